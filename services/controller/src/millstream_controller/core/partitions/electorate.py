"""Who may keep and lead partitions, and what their topics ask for, as one decision finds it: brokers and configs looked up once."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from millstream_cluster.configs import TOPIC_CONFIGS, EffectiveConfigs
from millstream_cluster.coordinator_topics import MIN_ISR
from millstream_cluster.ids import COORDINATOR_TOPICS, NodeId
from millstream_cluster.members import Partition
from millstream_cluster.records import ResourceType
from millstream_controller.core.machine import ControllerMachine

UNCLEAN = "unclean.leader.election.enable"


class Electorate:
    """`live`: the unfenced brokers, who may be in an ISR; `electable`: those of them that do not stop, who may also lead and join."""

    def __init__(
        self,
        machine: ControllerMachine,
        *,
        without: Iterable[int] = (),
        joined_by: Iterable[int] = (),
        failed: frozenset[UUID] = frozenset(),
    ) -> None:
        """`without`, `joined_by`, `failed`: who is fenced and unfenced, and which directories fail, by the very decision that asks."""
        self.live = (machine.live_brokers() | frozenset(joined_by)) - frozenset(without)
        self.electable = self.live - machine.departures.brokers(machine.image)
        self._image = machine.image
        self._failed = failed
        self._configs = EffectiveConfigs(machine.image, machine.settings.static)
        self._min_isr_by_topic: dict[str, int] = {}
        self._unclean_by_topic: dict[str, bool] = {}
        self._default_min_isr: int | None = None

    def in_failed_directories(self, directories: Mapping[NodeId, UUID]) -> frozenset[int]:
        """Those brokers among these whose replica, which is kept where this says, cannot be used."""
        if not directories:
            return frozenset()
        nodes = self._image.nodes
        return frozenset(
            node_id
            for node_id, directory in directories.items()
            if directory in self._failed
            or ((node := nodes.get(node_id)) is not None and not node.has_directory(directory))
        )

    def may_join(self, node_id: int, partition: Partition) -> bool:
        """Whether it may be in the partition's ISR from now on."""
        if node_id not in self.electable:
            return False
        directory = partition.directory_of(node_id)
        return not self.in_failed_directories({NodeId(node_id): directory})

    def min_isr(self, topic: str) -> int:
        """min.insync.replicas: with fewer in sync nothing is committed."""
        found = self._min_isr_by_topic.get(topic)
        if found is None:
            own = self._image.config(ResourceType.TOPIC, topic).get(MIN_ISR)
            found = self._min_isr_by_topic[topic] = self.default_min_isr if own is None else int(own)
        return found

    def set_min_isr(self, topic: str, min_isr: int) -> None:
        """As it will be once the configs of this decision hold."""
        self._min_isr_by_topic[topic] = min_isr

    @property
    def default_min_isr(self) -> int:
        """Of topics that do not set their own."""
        if self._default_min_isr is None:
            self._default_min_isr = int(str(self._configs.topic_value("", MIN_ISR)))
        return self._default_min_isr

    def elects_unclean(self, topic: str) -> bool:
        """Whether a replica out of sync leads rather than nobody; never what fences groups and transactions."""
        found = self._unclean_by_topic.get(topic)
        if found is None:
            found = topic not in COORDINATOR_TOPICS and self._value(topic, UNCLEAN) is True
            self._unclean_by_topic[topic] = found
        return found

    def _value(self, topic: str, key: str) -> object:
        own = self._image.config(ResourceType.TOPIC, topic).get(key)
        return self._configs.topic_value(topic, key) if own is None else TOPIC_CONFIGS[key].parse(own)

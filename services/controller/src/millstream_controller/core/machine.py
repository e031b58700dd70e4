"""The controller's replicated state: the Image, and what decisions look up in it often.

`apply` is the only writer of both. What is not derived from records is kept elsewhere (sessions, observers), but for who is
about to stop, which decisions see.
"""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.members import Node, Partition, Topic
from millstream_cluster.placement import Candidate
from millstream_controller.core.nodes.departures import Departures
from millstream_controller.core.settings import Settings
from millstream_controller.core.topics.topic_names import collision_key


class ControllerMachine:
    """Invariant: the indexes are what a scan of the Image would give."""

    def __init__(self, settings: Settings, image: Image) -> None:
        self.settings = settings
        self.image = image
        self.departures = Departures()
        """Who said that it wants to stop: soft state, as sessions are; a later controller hears it anew."""
        self._offline = {(p.topic_id, p.partition) for p in image.partitions() if not p.online}
        self._imbalanced = {(p.topic_id, p.partition) for p in image.partitions() if _is_imbalanced(p)}
        self._collisions = Counter(collision_key(name) for name in image.topics)

    @property
    def next_offset(self) -> Offset:
        """Where the next record will be; the epoch of a registration that is decided now."""
        return Offset(self.image.offset + 1)

    def apply(self, record: r.MetadataRecord) -> None:
        match record:
            case r.TopicCreated():
                self._collisions[collision_key(record.name)] += 1
            case r.TopicDeleted():
                self._forget_topic(record.topic_id)
            case r.PartitionCreated() | r.PartitionChanged():
                key = (record.topic_id, record.partition)
                _keep(self._offline, key, record.leader == NO_NODE)
                _keep(self._imbalanced, key, _is_imbalanced(record))
            case _:
                pass
        self.image.apply(record, self.next_offset)

    def colliding_topic(self, name: str) -> str | None:
        """A topic whose name differs from this one only in '.' and '_', which metrics cannot tell apart."""
        key = collision_key(name)
        if not self._collisions[key]:
            return None
        return next((topic for topic in self.image.topics if collision_key(topic) == key and topic != name), None)

    def offline_partitions(self) -> list[Partition]:
        """Partitions without a leader, in a stable order."""
        return self._in_order(self._offline)

    def imbalanced_partitions(self) -> list[Partition]:
        """Partitions that are led by another than their preferred replica, in a stable order."""
        return self._in_order(self._imbalanced)

    def kept_by(self, node_id: int) -> list[Partition]:
        """Partitions that the node leads, is in sync for or may lead (ISR, ELR, the last leader), those that it leads first."""
        kept = [
            p
            for p in self.image.partitions()
            if node_id in p.isr or node_id in p.eligible_leader_replicas or node_id in p.last_known_elr
        ]
        return sorted(kept, key=lambda partition: partition.leader != node_id)

    def live_brokers(self) -> frozenset[int]:
        return frozenset(node.node_id for node in self.image.brokers.values() if not node.fenced)

    def candidates(self, topic: Topic | None = None) -> list[Candidate]:
        """Live brokers that stay, with what they carry, in the order of their ids; `topic` is the one that is to grow."""
        stopping = self.departures.brokers(self.image)
        return self._carrying(
            (node for node in self.image.brokers.values() if not node.fenced and node.node_id not in stopping), topic
        )

    def away(self, topic: Topic | None = None) -> list[Candidate]:
        """Registered brokers that are fenced or about to stop, as `candidates` has the others."""
        stopping = self.departures.brokers(self.image)
        return self._carrying(
            (node for node in self.image.brokers.values() if node.fenced or node.node_id in stopping), topic
        )

    def _carrying(self, nodes: Iterable[Node], topic: Topic | None) -> list[Candidate]:
        own = () if topic is None else topic.partitions
        own_replicas = Counter(node for partition in own for node in partition.replicas)
        own_leaders = Counter(partition.replicas[0] for partition in own)
        replicas = Counter(node for partition in self.image.partitions() for node in partition.replicas)
        leaders = Counter(partition.replicas[0] for partition in self.image.partitions())
        return [
            Candidate(
                node.node_id,
                node.rack,
                replicas[node.node_id],
                leaders[node.node_id],
                own_replicas[node.node_id],
                own_leaders[node.node_id],
            )
            for node in sorted(nodes, key=lambda node: node.node_id)
        ]

    def _in_order(self, keys: Iterable[tuple[UUID, int]]) -> list[Partition]:
        found = (self.image.partition(topic_id, number) for topic_id, number in keys)
        return sorted((p for p in found if p is not None), key=lambda p: (p.topic, p.partition))

    def live_coordinators(self) -> list[NodeId]:
        return sorted(node.node_id for node in self.image.coordinators.values() if not node.fenced)

    def check(self) -> None:
        """Raise unless the Image and the indexes hold their invariants."""
        self.image.check()
        fresh = ControllerMachine(self.settings, self.image)
        assert self._offline == fresh._offline, "the set of offline partitions is wrong"
        assert self._imbalanced == fresh._imbalanced, "the set of partitions that others lead is wrong"
        assert +self._collisions == +fresh._collisions, "the index of topic names is wrong"

    def _forget_topic(self, topic_id: UUID) -> None:
        topic = self.image.topic(topic_id)
        if topic is not None:
            self._collisions[collision_key(topic.name)] -= 1
            keys = {(topic_id, partition.partition) for partition in topic.partitions}
            self._offline -= keys
            self._imbalanced -= keys


def _is_imbalanced(partition: Partition | r.PartitionCreated | r.PartitionChanged) -> bool:
    return partition.leader not in (NO_NODE, partition.replicas[0])


def _keep(keys: set[tuple[UUID, int]], key: tuple[UUID, int], belongs: bool) -> None:
    if belongs:
        keys.add(key)
    else:
        keys.discard(key)

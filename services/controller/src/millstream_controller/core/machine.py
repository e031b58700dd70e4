"""The controller's replicated state: the Image, and what decisions look up in it often.

`apply` is the only writer of both. What is not derived from records is kept elsewhere (sessions, observers), but for who is
about to stop, which decisions see.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.members import Partition, Topic
from millstream_cluster.placement import Candidate
from millstream_controller.core.cordons import Cordons
from millstream_controller.core.holdings import Holdings, Key
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
        self.holdings = Holdings(image)
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
            case _:
                pass
        self.holdings.apply(record, self.image)
        self.image.apply(record, self.next_offset)

    def colliding_topic(self, name: str) -> str | None:
        """A topic whose name differs from this one only in '.' and '_', which metrics cannot tell apart."""
        key = collision_key(name)
        if not self._collisions[key]:
            return None
        return next((topic for topic in self.image.topics if collision_key(topic) == key and topic != name), None)

    def partitions(self, keys: Iterable[Key]) -> list[Partition]:
        """The partitions of these keys, in a stable order."""
        found = (self.image.partition(topic_id, number) for topic_id, number in keys)
        return sorted((p for p in found if p is not None), key=lambda p: (p.topic, p.partition))

    def offline_partitions(self) -> list[Partition]:
        """Partitions without a leader, in a stable order."""
        return self.partitions(self.holdings.offline)

    def imbalanced_partitions(self) -> list[Partition]:
        """Partitions that are led by another than their preferred replica, in a stable order."""
        return self.partitions(self.holdings.led_by_another)

    def replicas_on(self, node_id: int) -> list[Partition]:
        """Partitions of which this broker has a replica, in a stable order."""
        return self.partitions(self.holdings.replicas_on(node_id))

    def kept_by(self, node_id: int) -> list[Partition]:
        """Partitions that the node leads, is in sync for or may lead (ISR, ELR, the last leader), those that it leads first."""
        kept = [
            p
            for p in self.replicas_on(node_id)
            if node_id in p.isr or node_id in p.eligible_leader_replicas or node_id in p.last_known_elr
        ]
        return sorted(kept, key=lambda partition: partition.leader != node_id)

    def live_brokers(self) -> frozenset[int]:
        return frozenset(node.node_id for node in self.image.brokers.values() if not node.fenced)

    def candidates(self, topic: Topic | None = None) -> list[Candidate]:
        """Live brokers that stay and take new replicas, with what they carry, in the order of their ids; `topic` is the one that is to grow."""
        return [broker for broker in self._carrying(topic) if broker.accepts]

    def away(self, topic: Topic | None = None) -> list[Candidate]:
        """Registered brokers that are fenced or about to stop and not cordoned, as `candidates` has the others."""
        live = self.live_brokers() - self.departures.brokers(self.image)
        cordons = Cordons(self.image)
        return [
            broker
            for broker in self._carrying(topic)
            if broker.node_id not in live and not cordons.closed(self.image.brokers[broker.node_id])
        ]

    def _carrying(self, topic: Topic | None) -> list[Candidate]:
        own = () if topic is None else topic.partitions
        own_replicas = Counter(node for partition in own for node in partition.replicas)
        own_leaders = Counter(partition.replicas[0] for partition in own)
        return [
            replace(
                broker,
                topic_replicas=own_replicas[broker.node_id],
                topic_leaders=own_leaders[broker.node_id],
            )
            for broker in self.carriers()
        ]

    def carriers(self) -> list[Candidate]:
        """All brokers with what they carry, by their ids: who is fenced, about to stop or cordoned (KIP-1066) takes no more."""
        cordons = Cordons(self.image)
        staying = self.live_brokers() - self.departures.brokers(self.image)
        return [
            Candidate(
                node.node_id,
                node.rack,
                self.holdings.replicas_of(node.node_id),
                self.holdings.preferred_of(node.node_id),
                accepts=node.node_id in staying and not cordons.closed(node),
            )
            for node in sorted(self.image.brokers.values(), key=lambda node: node.node_id)
        ]

    def live_coordinators(self) -> list[NodeId]:
        return sorted(node.node_id for node in self.image.coordinators.values() if not node.fenced)

    def check(self) -> None:
        """Raise unless the Image and the indexes hold their invariants."""
        self.image.check()
        fresh = ControllerMachine(self.settings, self.image)
        assert self.holdings == fresh.holdings, "the indexes of partitions by broker are wrong"
        assert +self._collisions == +fresh._collisions, "the index of topic names is wrong"

    def _forget_topic(self, topic_id: UUID) -> None:
        topic = self.image.topic(topic_id)
        if topic is not None:
            self._collisions[collision_key(topic.name)] -= 1

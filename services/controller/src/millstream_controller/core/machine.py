"""The controller's replicated state: the Image, and what decisions look up in it often.

`apply` is the only writer; what is not derived from records (sessions, observers) is kept elsewhere.
"""

from collections import Counter
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.members import Partition, Topic
from millstream_cluster.placement import Candidate
from millstream_controller.core.settings import Settings
from millstream_controller.core.topics.topic_names import collision_key


class ControllerMachine:
    """Invariant: the indexes are what a scan of the Image would give."""

    def __init__(self, settings: Settings, image: Image) -> None:
        self.settings = settings
        self.image = image
        self._offline = {(p.topic_id, p.partition) for p in image.partitions() if not p.online}
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
            case r.PartitionCreated() | r.PartitionChanged() if record.leader == NO_NODE:
                self._offline.add((record.topic_id, record.partition))
            case r.PartitionChanged():
                self._offline.discard((record.topic_id, record.partition))
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
        found = (self.image.partition(topic_id, number) for topic_id, number in self._offline)
        return sorted((p for p in found if p is not None), key=lambda p: (p.topic, p.partition))

    def led_by(self, node_id: int) -> list[Partition]:
        return [partition for partition in self.image.partitions() if partition.leader == node_id]

    def candidates(self, topic: Topic | None = None) -> list[Candidate]:
        """Live brokers with what they carry, in the order of their ids; `topic` is the one that is to grow."""
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
            for node in sorted(self.image.brokers.values(), key=lambda node: node.node_id)
            if not node.fenced
        ]

    def live_coordinators(self) -> list[NodeId]:
        return sorted(node.node_id for node in self.image.coordinators.values() if not node.fenced)

    def check(self) -> None:
        """Raise unless the Image and the indexes hold their invariants."""
        self.image.check()
        fresh = ControllerMachine(self.settings, self.image)
        assert self._offline == fresh._offline, "the set of offline partitions is wrong"
        assert +self._collisions == +fresh._collisions, "the index of topic names is wrong"

    def _forget_topic(self, topic_id: UUID) -> None:
        topic = self.image.topic(topic_id)
        if topic is not None:
            self._collisions[collision_key(topic.name)] -= 1
            self._offline -= {(topic_id, partition.partition) for partition in topic.partitions}

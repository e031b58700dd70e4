"""Topics and who keeps their partitions."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import assert_never
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.errors import ImageError
from millstream_cluster.image.expectation import expect
from millstream_cluster.members import Node, Partition, Topic


class TopicsImage:
    """Topics by name and by id.

    Invariant (`check`): a topic is the same by name and by id, its partitions are numbered without gaps, a partition's
    replicas are distinct and its ISR, ELR, last known ELR, adding and removing replicas are part of them, nobody is in the ISR and in
    one of the others, its directories are one per replica or none, its leader is an unfenced broker of the ISR. Of several
    replicas those in the ISR are unfenced brokers, and without an ISR at most one is the last known. Nobody leads, or is one of
    several in the ISR, from a directory that has failed.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._partitions: dict[UUID, list[Partition]] = {}
        """The lists behind `Topic.partitions`, which is read-only for everybody else."""
        self.by_name: Mapping[str, Topic] = MappingProxyType(self._by_name)

    def find(self, key: str | UUID) -> Topic | None:
        return self._by_name.get(key) if isinstance(key, str) else self._by_id.get(key)

    def records(self) -> Iterator[r.MetadataRecord]:
        """As of now, also if they are asked for while others are applied: partitions are values, only who has them is copied."""
        now = [(topic, tuple(topic.partitions)) for topic in self._by_name.values()]
        return _records(now)

    def apply(self, record: r.TopicCreated | r.TopicDeleted | r.PartitionCreated | r.PartitionChanged) -> None:
        if isinstance(record, r.TopicCreated):
            self._create(record)
            return
        found = self._by_id.get(record.topic_id)
        if found is None:
            raise ImageError(f"{record}: no such topic")
        partitions = self._partitions[record.topic_id]
        match record:
            case r.TopicDeleted():
                del self._by_name[found.name], self._by_id[found.topic_id], self._partitions[found.topic_id]
            case r.PartitionCreated():
                expect(record.partition == len(partitions), record, "not the topic's next partition")
                partitions.append(Partition.of(record, found.name))
            case r.PartitionChanged():
                expect(0 <= record.partition < len(partitions), record, "no such partition")
                before = partitions[record.partition]
                expect(record.partition_epoch == before.partition_epoch + 1, record, f"before it: {before}")
                expect(record.leader_epoch >= before.leader_epoch, record, f"before it: {before}")
                partitions[record.partition] = Partition.of(record, found.name)
            case _:
                assert_never(record)

    def _create(self, record: r.TopicCreated) -> None:
        expect(record.name not in self._by_name, record, "the name is taken")
        expect(record.topic_id not in self._by_id, record, "the id is taken")
        partitions = self._partitions[record.topic_id] = []
        topic = Topic(record.name, record.topic_id, record.internal, partitions)
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicsImage) and self._by_name == other._by_name

    __hash__ = None  # type: ignore[assignment]

    def check(self, nodes: Mapping[int, Node]) -> None:
        """Raise ImageError unless the invariant holds; between the records of one decision it need not."""
        for topic in self._by_name.values():
            if self._by_id.get(topic.topic_id) is not topic:
                raise ImageError(f"{topic.name} is not the topic of its id")
            for index, partition in enumerate(topic.partitions):
                _check_partition(topic, index, partition, nodes)
        if len(self._by_id) != len(self._by_name) or self._partitions.keys() != self._by_id.keys():
            raise ImageError("topics by id are not the topics by name")


def _records(topics: Iterable[tuple[Topic, tuple[Partition, ...]]]) -> Iterator[r.MetadataRecord]:
    for topic, partitions in topics:
        yield r.TopicCreated(topic.name, topic.topic_id, topic.internal)
        yield from (partition.created() for partition in partitions)


def _check_partition(topic: Topic, index: int, partition: Partition, nodes: Mapping[int, Node]) -> None:
    if (partition.topic, partition.topic_id, partition.partition) != (topic.name, topic.topic_id, index):
        raise ImageError(f"{partition} is not partition {index} of {topic.name}")
    if not partition.replicas or len(set(partition.replicas)) != len(partition.replicas):
        raise ImageError(f"{partition}: replicas must be distinct and not empty")
    if not set(partition.isr) <= set(partition.replicas):
        raise ImageError(f"{partition}: the ISR is not part of the replicas")
    if not {*partition.adding_replicas, *partition.removing_replicas} <= set(partition.replicas):
        raise ImageError(f"{partition}: adding and removing replicas are not part of the replicas")
    _check_eligible(partition)
    if len(partition.directories) not in (0, len(partition.replicas)):
        raise ImageError(f"{partition}: not one directory for each replica")
    if len(partition.replicas) > 1 and not all(_is_live(nodes, partition, member) for member in partition.isr):
        raise ImageError(f"{partition}: the ISR has members that are not unfenced brokers")
    if partition.online and not (partition.leader in partition.isr and _is_live(nodes, partition, partition.leader)):
        leader = nodes.get(partition.leader)
        raise ImageError(f"{partition}: the leader must be an unfenced broker of the ISR, it is {leader}")


def _check_eligible(partition: Partition) -> None:
    outside = set(partition.replicas) - set(partition.isr)
    eligible, last_known = set(partition.eligible_leader_replicas), set(partition.last_known_elr)
    if not eligible <= outside:
        raise ImageError(f"{partition}: the ELR is not made of replicas outside the ISR")
    if not last_known <= outside or (partition.isr and last_known & eligible):
        raise ImageError(f"{partition}: the last known ELR is not made of replicas outside the ISR and the ELR")
    if not partition.isr and len(last_known) > 1:
        raise ImageError(f"{partition}: without an ISR one replica at most was the last leader")


def _is_live(nodes: Mapping[int, Node], partition: Partition, node_id: int) -> bool:
    node = nodes.get(node_id)
    return node is not None and not node.fenced and partition.is_usable_at(node)

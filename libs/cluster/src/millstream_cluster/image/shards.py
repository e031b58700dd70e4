"""Owners of the partitions of coordinators' topics."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.errors import ImageError
from millstream_cluster.ids import NO_NODE, Role, role_of
from millstream_cluster.image.expectation import expect
from millstream_cluster.image.topics import TopicsImage
from millstream_cluster.members import Shard, Topic


class ShardsImage:
    """Invariant (`check`): a shard belongs to a partition that exists, its owner is a coordinator or nobody."""

    def __init__(self) -> None:
        self._shards: dict[tuple[UUID, int], Shard] = {}
        self.by_partition: Mapping[tuple[UUID, int], Shard] = MappingProxyType(self._shards)

    def records(self) -> Iterator[r.MetadataRecord]:
        yield from (shard.assigned() for shard in self._shards.values())

    def apply(self, record: r.ShardAssigned, topics: TopicsImage) -> None:
        topic = topics.find(record.topic_id)
        if topic is None:
            raise ImageError(f"{record}: no such topic")
        expect(0 <= record.partition < len(topic.partitions), record, "no such partition")
        self._shards[record.topic_id, record.partition] = Shard.of(record)

    def forget(self, topic: Topic) -> None:
        for partition in range(len(topic.partitions)):
            self._shards.pop((topic.topic_id, partition), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardsImage) and self._shards == other._shards

    __hash__ = None  # type: ignore[assignment]

    def check(self, topics: TopicsImage) -> None:
        for (topic_id, index), shard in self._shards.items():
            topic = topics.find(topic_id)
            if topic is None or not 0 <= index < len(topic.partitions):
                raise ImageError(f"{shard}: no such partition")
            if shard.coordinator_id != NO_NODE and role_of(shard.coordinator_id) is not Role.COORDINATOR:
                raise ImageError(f"{shard}: the owner is no coordinator")

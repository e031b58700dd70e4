"""A shard of consumer groups on a cluster's metadata, told things by members as over the wire."""

from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_coordinator.core.commands.consumer_heartbeat import on_heartbeat
from millstream_coordinator.core.commands.consumer_leaving import on_leave, remove_silent
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.group_shard.records import ShardRecord

LIMITS = GroupLimits(
    consumer=ConsumerLimits(
        session_timeout_ms=45_000, heartbeat_interval_ms=5_000, assignment_interval_ms=0, size_max=10
    )
)


class Course:
    """Whatever is written goes through the log's format, so that a replay of it has to give the live state."""

    __test__ = False

    def __init__(self, limits: GroupLimits = LIMITS) -> None:
        self.limits = limits
        self.now_ms = 1_000_000
        self.image = Image()
        self.shard = GroupShard(limits)
        self.log: list[tuple[bytes, bytes | None]] = []

    # The cluster

    def create(self, name: str, partitions: int = 4) -> UUID:
        topic_id = UUID(int=100 + self.image.offset)
        self._metadata(r.TopicCreated(name, topic_id, name.startswith("__")))
        self.grow(name, partitions)
        return topic_id

    def grow(self, name: str, partitions: int) -> None:
        topic = self.image.topic(name)
        assert topic is not None
        for number in range(len(topic.partitions), partitions):
            node, epoch = NodeId(0), LeaderEpoch(0)
            created = r.PartitionCreated(topic.topic_id, number, (node,), (node,), NodeId(-1), epoch, PartitionEpoch(0))
            self._metadata(created)

    def delete(self, name: str) -> None:
        topic = self.image.topic(name)
        assert topic is not None
        self._metadata(r.TopicDeleted(topic.topic_id))

    def _metadata(self, record: r.MetadataRecord) -> None:
        self.image.apply(record, self.image.offset + 1)

    # The members

    def heartbeat(self, member_id: str, epoch: int, group_id: str = "g", **said: object) -> HeartbeatAnswer:
        request = HeartbeatRequest(group_id=group_id, member_id=member_id, member_epoch=epoch, **said)  # type: ignore[arg-type]
        if epoch < 0:
            decision = on_leave(self.shard, request, self.image, self.now_ms)
        else:
            decision = on_heartbeat(self.shard, request, self.image, self.now_ms)
        self.write(decision)
        return decision.reply

    def join(self, member_id: str, *topics: str, **said: object) -> HeartbeatAnswer:
        full: dict[str, object] = {"rebalance_timeout_ms": 60_000, "reported": frozenset(), "topics": topics, **said}
        return self.heartbeat(member_id, 0, **full)

    def pass_time(self, elapsed_ms: int) -> set[str]:
        """Whom it removed."""
        self.now_ms += elapsed_ms
        decision = remove_silent(self.shard, self.image, self.now_ms)
        self.write(decision)
        return {member_id for _, member_id in decision.reply}

    # The log

    def write(self, decision: Decision[ShardRecord, Any]) -> None:
        for record in decision.records:
            self.log.append(encode_record(record))
            self.shard.apply(record)
        for change in decision.then:
            change.make(self.shard)
        self.shard.check()

    def replayed(self) -> GroupShard:
        shard = GroupShard(self.limits)
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            shard.apply(record)
        return shard

"""A shard of share groups on a cluster's metadata, told things by members as over the wire."""

from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_coordinator.core.commands.consumer_leaving import remove_silent
from millstream_coordinator.core.commands.share_heartbeat import on_share_heartbeat
from millstream_coordinator.core.commands.share_leaving import on_share_leave
from millstream_coordinator.core.commands.share_partitions import (
    StateChange,
    begin_deletion,
    state_begun,
    state_deleted,
)
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group.partitions import Partitions
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_coordinator.core.share.messages import ShareHeartbeatAnswer, ShareHeartbeatRequest

LIMITS = GroupLimits(share=ShareLimits(assignment_interval_ms=0, size_max=3))


class ShareCourse:
    """Whatever is written goes through the log's format, so that a replay of it has to give the live state."""

    def __init__(self, limits: GroupLimits = LIMITS) -> None:
        self.limits = limits
        self.now_ms = 1_000_000
        self.image = Image()
        self.shard = GroupShard(limits)
        self.log: list[tuple[bytes, bytes | None]] = []

    @property
    def group(self) -> ShareGroup:
        return self.shard.shares["g"]

    # The cluster

    def create(self, name: str, partitions: int = 2) -> UUID:
        topic_id = UUID(int=100 + self.image.offset)
        self._metadata(r.TopicCreated(name, topic_id, False))
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

    def configure(self, key: str, value: str) -> None:
        self._metadata(r.ConfigChanged(r.ResourceType.GROUP, "g", key, value))

    def _metadata(self, record: r.MetadataRecord) -> None:
        self.image.apply(record, self.image.offset + 1)

    # The members

    def say(self, member_id: str, epoch: int, topics: tuple[str, ...] | None = None) -> ShareHeartbeatAnswer:
        request = ShareHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, topics=topics)
        if epoch < 0:
            decision = on_share_leave(self.shard, request)
        else:
            decision = on_share_heartbeat(self.shard, request, self.image, self.now_ms)
        self.write(decision)
        return decision.reply

    def heartbeat(self, member_id: str, epoch: int) -> HeartbeatAnswer:
        return self.say(member_id, epoch).answer

    def join(self, member_id: str, *topics: str) -> HeartbeatAnswer:
        """As the shell has it: the state of what is new is begun, and the member asks again."""
        said = self.say(member_id, 0, topics)
        if not said.initializing:
            return said.answer
        self.begin(said.initializing)
        return self.say(member_id, 0, topics).answer

    def begin(self, partitions: Partitions) -> None:
        self.write(state_begun(self.shard, "g", partitions))

    def forget(self, *topics: UUID) -> StateChange:
        """As the shell has it: noted, deleted elsewhere, noted again."""
        decision = begin_deletion(self.shard, "g", frozenset(topics) or None, self.image)
        self.write(decision)
        if not decision.reply.error:
            self.write(state_deleted(self.shard, "g", decision.reply.topics))
        return decision.reply

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

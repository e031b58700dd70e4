"""The facts a shard's log is made of; what they look like in the topic is `record_format`'s affair."""

from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.consumer.records import ConsumerRecord
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share.records import ShareRecord
from millstream_coordinator.core.transactions.pending_records import PendingRecord
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """How far a group has come in a partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class OffsetCommitted:
    group_id: str
    topic: str
    partition: int
    committed: CommittedOffset


@dataclass(frozen=True, slots=True)
class OffsetRemoved:
    group_id: str
    topic: str
    partition: int


ShardRecord = (
    OffsetCommitted
    | OffsetRemoved
    | GroupStored
    | GroupRemoved
    | ShardClaimed
    | ConsumerRecord
    | ShareRecord
    | PendingRecord
)

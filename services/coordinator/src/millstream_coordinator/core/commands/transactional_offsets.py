"""Offsets committed inside transactions, as decisions of the group's shard: they wait, then all are committed or all are gone.

The shard judges producers by the highest epoch that it has seen of them, so that nothing of a deposed one gets in later.
"""

from millstream_cluster.decision import Decision
from millstream_coordinator.core.commands.offsets import CommitRequest, commit_refusal
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX, Removal
from millstream_coordinator.core.transactions.pending_records import (
    OffsetPending,
    PendingOffset,
    ProducerSeen,
    SeenProducer,
)
from millstream_coordinator.core.transactions.transaction import EPOCH_BUMPED, EPOCH_KEPT
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

PENDING_BYTES_MAX = COMMAND_BYTES_MAX // 3
"""Of one producer: the marker turns all of it into tombstones and commits, in one batch."""
EXPIRED_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalCommit:
    commit: CommitRequest
    producer_id: int
    producer_epoch: int
    markers: int
    """How many of the producer's transactions had ended here before its coordinator said that this one is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The end of a producer's transaction."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int = EPOCH_KEPT


def commit_in_transaction(
    shard: GroupShard, request: TransactionalCommit, now_ms: int
) -> Decision[ShardRecord, ErrorCode]:
    """Keep the offsets until the transaction ends; all of them, or none with the reason why."""
    asked = request.commit
    anonymous = asked.generation < 0 and not asked.member_id and asked.group_instance_id is None
    if not anonymous and (error := commit_refusal(shard, shard.groups.get(asked.group_id), asked)):
        return Decision((), error)
    seen = shard.pending.producers.get(request.producer_id)
    if seen is not None and request.producer_epoch < seen.epoch:
        return Decision((), ErrorCode.INVALID_PRODUCER_EPOCH)
    if shard.pending.markers(request.producer_id) != request.markers:
        # That transaction has ended meanwhile: is the producer in another one? Its client asks again.
        return Decision((), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    records: list[ShardRecord] = [
        OffsetPending(
            request.producer_id,
            asked.group_id,
            each.topic,
            each.partition,
            PendingOffset(
                offset=each.offset,
                leader_epoch=each.leader_epoch,
                metadata=each.metadata,
                order=shard.pending.next_order((asked.group_id, each.topic, each.partition)),
            ),
        )
        for each in asked.offsets
    ]
    known = shard.pending.offsets.get(request.producer_id, {})
    kept = (OffsetPending(request.producer_id, *key, value) for key, value in known.items())
    if sum(map(size_of, records)) + sum(map(size_of, kept)) > PENDING_BYTES_MAX:
        return Decision((), ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    if seen is None or request.producer_epoch > seen.epoch:
        records.append(_seen(request.producer_id, seen, epoch=request.producer_epoch, now_ms=now_ms))
    return Decision(tuple(records), ErrorCode.NONE)


def end_in_group(shard: GroupShard, marker: Marker, now_ms: int) -> Decision[ShardRecord, ErrorCode]:
    """Commit or drop all that waits for the end of this transaction, at once; asked again, it changes nothing."""
    seen = shard.pending.producers.get(marker.producer_id)
    if seen is not None and marker.producer_epoch < seen.epoch:
        return Decision((), ErrorCode.INVALID_PRODUCER_EPOCH)
    if seen is not None and marker.coordinator_epoch < seen.coordinator_epoch:
        return Decision((), ErrorCode.TRANSACTION_COORDINATOR_FENCED)
    pending_offsets = shard.pending.offsets.get(marker.producer_id, {})
    if marker.transaction_version >= EPOCH_BUMPED and seen is not None and marker.producer_epoch == seen.epoch:
        # It has been here, and what waits now is the next transaction's.
        return Decision((), ErrorCode.INVALID_PRODUCER_EPOCH if pending_offsets else ErrorCode.NONE)
    records: list[ShardRecord] = []
    for (group_id, topic, partition), pending in pending_offsets.items():
        records.append(OffsetPending(marker.producer_id, group_id, topic, partition, None))
        if marker.committed:
            committed = CommittedOffset(
                offset=pending.offset,
                leader_epoch=pending.leader_epoch,
                metadata=pending.metadata,
                commit_timestamp_ms=now_ms,
            )
            records.append(OffsetCommitted(group_id, topic, partition, committed))
            records += shard.pending.dropped(group_id, topic, partition, before=pending.order)
    ended = SeenProducer(
        epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        markers=shard.pending.markers(marker.producer_id) + 1,
        updated_ms=now_ms,
    )
    return Decision((ProducerSeen(marker.producer_id, ended), *records), ErrorCode.NONE)


def forget_producers(shard: GroupShard, *, expiration_ms: int, now_ms: int) -> Decision[ShardRecord, Removal]:
    """Forget producers long silent, some at a time."""
    silent = [
        producer_id
        for producer_id, seen in shard.pending.producers.items()
        if now_ms - seen.updated_ms >= expiration_ms and producer_id not in shard.pending.offsets
    ]
    records = tuple(ProducerSeen(producer_id, None) for producer_id in silent[:EXPIRED_MAX])
    return Decision(records, Removal(more=len(silent) > EXPIRED_MAX))


def _seen(producer_id: int, seen: SeenProducer | None, *, epoch: int, now_ms: int) -> ProducerSeen:
    if seen is None:
        return ProducerSeen(producer_id, SeenProducer(epoch=epoch, updated_ms=now_ms))
    value = SeenProducer(epoch=epoch, coordinator_epoch=seen.coordinator_epoch, markers=seen.markers, updated_ms=now_ms)
    return ProducerSeen(producer_id, value)

"""What nodes ask of the state of a share partition: begin it, read it (which fences earlier leaders), write it, look at it,
forget it. The error codes and what goes first are Kafka's.
"""

from collections.abc import Callable
from uuid import UUID

from millstream_cluster.decision import Decision
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX, Removal
from millstream_coordinator.core.share_state.machine import ShareStateShard
from millstream_coordinator.core.share_state.record_format import encode_share_state_record
from millstream_coordinator.core.share_state.records import ShareStateRecord, ShareStateStored
from millstream_coordinator.core.share_state.state import (
    NOT_BEGUN,
    UNKNOWN_COUNT,
    SharePartition,
    ShareState,
    StateBatch,
    are_in_order,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

NOT_SAID = -1
"""In place of an epoch: whoever asks does not fence and is not fenced."""
FORGOTTEN_MAX = 1_000
"""Tombstones per decision: they go to the log as one batch."""


@dataclass(frozen=True, slots=True)
class Answer:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: ShareState | None = None


StateDecision = Decision[ShareStateRecord, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


def initialize(
    shard: ShareStateShard, key: SharePartition, *, state_epoch: int, start_offset: int, now_ms: int
) -> StateDecision:
    """Begin the state anew, whatever it was, unless somebody has done so since."""
    known = shard.states.get(key)
    if known is not None and state_epoch != NOT_SAID and known.state_epoch > state_epoch:
        return _refuse(ErrorCode.FENCED_STATE_EPOCH, "The share partition was begun again since.")
    if known is not None and (known.state_epoch, known.start_offset) == (state_epoch, start_offset):
        return Decision((), Answer(state=known))  # the answer to the first request got lost
    begun = ShareState(
        snapshot_epoch=known.snapshot_epoch + 1 if known is not None else 0,
        state_epoch=state_epoch,
        start_offset=start_offset,
        delivery_complete_count=UNKNOWN_COUNT if start_offset == NOT_BEGUN else 0,
        created_ms=now_ms,
        written_ms=now_ms,
    )
    return Decision((ShareStateStored(key, begun),), Answer(state=begun))


def read(shard: ShareStateShard, key: SharePartition, *, leader_epoch: int, now_ms: int) -> StateDecision:
    """By the partition's leader as it takes up the partition: those before it write no more."""
    known = shard.states.get(key)
    if known is None:
        return _refuse(ErrorCode.INVALID_REQUEST, "The share partition's state was not initialized.")
    if leader_epoch != NOT_SAID and known.leader_epoch > leader_epoch:
        return _refuse(ErrorCode.FENCED_LEADER_EPOCH, "A later leader has read the share partition's state.")
    if leader_epoch in (NOT_SAID, known.leader_epoch):
        return Decision((), Answer(state=known))
    seen = known.with_changes(
        leader_epoch=leader_epoch,
        start_offset=known.start_offset,
        delivery_complete_count=known.delivery_complete_count,
        batches=(),
        now_ms=now_ms,
    )
    return Decision((ShareStateStored(key, seen),), Answer(state=seen))


def write(shard: ShareStateShard, key: SharePartition, asked: Write, now_ms: int) -> StateDecision:
    known = shard.states.get(key)
    if known is None:
        return _refuse(ErrorCode.INVALID_REQUEST, "The share partition's state was not initialized.")
    if asked.leader_epoch != NOT_SAID and known.leader_epoch > asked.leader_epoch:
        return _refuse(ErrorCode.FENCED_LEADER_EPOCH, "A later leader has read the share partition's state.")
    if asked.state_epoch != NOT_SAID and known.state_epoch > asked.state_epoch:
        return _refuse(ErrorCode.FENCED_STATE_EPOCH, "The share partition was begun again since.")
    if not are_in_order(asked.batches):
        return _refuse(ErrorCode.INVALID_REQUEST, "State batches must be in order and must not overlap.")
    written = known.with_changes(
        leader_epoch=asked.leader_epoch,
        start_offset=asked.start_offset,
        delivery_complete_count=asked.delivery_complete_count,
        batches=asked.batches,
        now_ms=now_ms,
    )
    record = ShareStateStored(key, written)
    if sum(len(part or b"") for part in encode_share_state_record(record)) > COMMAND_BYTES_MAX:
        return _refuse(ErrorCode.INVALID_REQUEST, "The share partition's state would be too large to be stored.")
    return Decision((record,), Answer(state=written))


def look(shard: ShareStateShard, key: SharePartition) -> StateDecision:
    """Only look, fencing nobody; there need not be any state."""
    return Decision((), Answer(state=shard.states.get(key)))


def delete(shard: ShareStateShard, key: SharePartition) -> StateDecision:
    records = (ShareStateStored(key, None),) if key in shard.states else ()
    return Decision(records, Answer())


def forget_topics(shard: ShareStateShard, exists: Callable[[UUID], bool]) -> Decision[ShareStateRecord, Removal]:
    """Drop the state of topics that are not there any more, some at a time."""
    gone = [key for key in shard.states if not exists(key.topic_id)]
    records = tuple(ShareStateStored(key, None) for key in gone[:FORGOTTEN_MAX])
    return Decision(records, Removal(more=len(gone) > FORGOTTEN_MAX))


def _refuse(error: ErrorCode, message: str) -> StateDecision:
    return Decision((), Answer(error, message))

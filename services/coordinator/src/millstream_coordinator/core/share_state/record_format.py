"""The state of share partitions in the bytes of `__share_group_state`: Kafka's snapshots. A snapshot without value is a tombstone.

Kafka writes what changed between two snapshots as records of another kind, which compaction would take apart; its log needs
a cleaner of its own. A window of a few thousand records is small enough to be written whole, so here every record is a snapshot.
"""

from millstream_coordinator.core.journal.claim import CLAIM_KEY, ShardClaimed, decode_claim, encode_claim
from millstream_coordinator.core.share_state.records import ShareStateRecord, ShareStateStored
from millstream_coordinator.core.share_state.state import SharePartition, ShareState, StateBatch
from millstream_wire.codec import DecodeError, decode_stored, encode_stored
from millstream_wire.stored import ShareSnapshotKey, ShareSnapshotValue
from millstream_wire.stored.share_state import StateBatch as StoredBatch

SNAPSHOT_KEY = 0
VALUE_VERSION = 0


def encode_share_state_record(record: ShareStateRecord) -> tuple[bytes, bytes | None]:
    """The record's key and value; no value is a tombstone."""
    if isinstance(record, ShardClaimed):
        return encode_claim(record)
    key = ShareSnapshotKey(group_id=record.key.group_id, topic_id=record.key.topic_id, partition=record.key.partition)
    value = None if record.state is None else encode_stored(_value(record.state), VALUE_VERSION)
    return encode_stored(key, SNAPSHOT_KEY), value


def decode_share_state_record(key: bytes | None, value: bytes | None) -> ShareStateRecord | None:
    """Read a record; None if it is of a kind that this release does not keep. Malformed ones are a DecodeError."""
    if key is None or len(key) < 2:
        raise DecodeError("a record of a coordinator topic begins its key with a version")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind == CLAIM_KEY and value is not None:
        return decode_claim(value)
    if kind != SNAPSHOT_KEY:
        return None
    named = decode_stored(ShareSnapshotKey, key)
    partition = SharePartition(named.group_id, named.topic_id, named.partition)
    return ShareStateStored(partition, None if value is None else _state(decode_stored(ShareSnapshotValue, value)))


def _value(state: ShareState) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[
            StoredBatch(
                first_offset=batch.first_offset,
                last_offset=batch.last_offset,
                delivery_state=batch.delivery_state,
                delivery_count=batch.delivery_count,
            )
            for batch in state.batches
        ],
    )


def _state(value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        batches=tuple(
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in value.state_batches
        ),
        created_ms=value.create_timestamp,
        written_ms=value.write_timestamp,
    )

"""A shard's records in the bytes of `__consumer_offsets`: Kafka's own format, so that other tools read what we store.

Beside Kafka's kinds of keys there are three of ours: key version 19795 ("MS"), an empty key, whose value says which coordinator
claimed the shard with which epoch; 19796 and 19797 for what waits for the end of a transaction. Tools that do not know a key's version skip it, and compaction keeps only the latest.
"""

from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.classic.stored_group import StoredGroup, StoredMember
from millstream_coordinator.core.consumer.record_format import CONSUMER_KEYS, encode_consumer_record
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved, ShardRecord
from millstream_coordinator.core.journal.claim import CLAIM_KEY, ShardClaimed, decode_claim, encode_claim
from millstream_coordinator.core.share.record_format import SHARE_KEYS, encode_share_record
from millstream_coordinator.core.share.records import ShareRecord
from millstream_coordinator.core.transactions.pending_format import (
    PENDING_KEY,
    PRODUCER_KEY,
    decode_pending,
    decode_producer,
    encode_pending_record,
)
from millstream_coordinator.core.transactions.pending_records import OffsetPending, ProducerSeen
from millstream_wire.codec import DecodeError, decode_stored, encode_stored
from millstream_wire.stored import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue
from millstream_wire.stored.group_metadata import MemberMetadata

OFFSET_KEYS = (0, 1)
GROUP_KEY = 2
OFFSET_VALUE_VERSION = 3
"""Kafka 4.3 knows a version 4 with topic ids too; tools older than that read this one."""
GROUP_VALUE_VERSION = 3


def encode_record(record: ShardRecord) -> tuple[bytes, bytes | None]:
    """The record's key and value; no value is a tombstone."""
    match record:
        case OffsetCommitted():
            return _offset_key(record.group_id, record.topic, record.partition), _offset_value(record.committed)
        case OffsetRemoved():
            return _offset_key(record.group_id, record.topic, record.partition), None
        case GroupStored():
            return _group_key(record.group.group_id), encode_stored(_group_value(record.group), GROUP_VALUE_VERSION)
        case GroupRemoved():
            return _group_key(record.group_id), None
        case ShardClaimed():
            return encode_claim(record)
        case OffsetPending() | ProducerSeen():
            return encode_pending_record(record)
        case _:
            if isinstance(record, ShareRecord):
                return encode_share_record(record)
            return encode_consumer_record(record)


def size_of(record: ShardRecord) -> int:
    """Bytes that the record takes up in a batch, or a few more."""
    key, value = encode_record(record)
    return len(key) + len(value or b"") + 24


def decode_record(key: bytes | None, value: bytes | None) -> ShardRecord | None:
    """Read a record; None if it is of a kind that this release does not keep. Malformed ones are a DecodeError."""
    if key is None or len(key) < 2:
        raise DecodeError("a record of a coordinator topic begins its key with a version")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind in OFFSET_KEYS:
        return _decode_offset(decode_stored(OffsetCommitKey, key), value)
    if kind == GROUP_KEY:
        return _decode_group(decode_stored(GroupMetadataKey, key).group, value)
    if kind in CONSUMER_KEYS:
        return CONSUMER_KEYS[kind](key, value)
    if kind in SHARE_KEYS:
        return SHARE_KEYS[kind](key, value)
    if kind == PENDING_KEY:
        return decode_pending(key, value)
    if kind == PRODUCER_KEY:
        return decode_producer(key, value)
    if kind == CLAIM_KEY and value is not None:
        return decode_claim(value)
    return None


def _offset_key(group_id: str, topic: str, partition: int) -> bytes:
    return encode_stored(OffsetCommitKey(group=group_id, topic=topic, partition=partition), OFFSET_KEYS[-1])


def _group_key(group_id: str) -> bytes:
    return encode_stored(GroupMetadataKey(group=group_id), GROUP_KEY)


def _offset_value(committed: CommittedOffset) -> bytes:
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
    )
    return encode_stored(value, OFFSET_VALUE_VERSION)


def _group_value(group: StoredGroup) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.subscription,
                assignment=member.assignment,
            )
            for member in group.members
        ],
    )


def _decode_offset(key: OffsetCommitKey, value: bytes | None) -> ShardRecord:
    if value is None:
        return OffsetRemoved(key.group, key.topic, key.partition)
    stored = decode_stored(OffsetCommitValue, value)
    committed = CommittedOffset(
        offset=stored.offset,
        leader_epoch=stored.leader_epoch,
        metadata=stored.metadata,
        commit_timestamp_ms=stored.commit_timestamp,
    )
    return OffsetCommitted(key.group, key.topic, key.partition, committed)


def _decode_group(group_id: str, value: bytes | None) -> ShardRecord:
    if value is None:
        return GroupRemoved(group_id)
    stored = decode_stored(GroupMetadataValue, value)
    members = tuple(
        StoredMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout,
            session_timeout_ms=member.session_timeout,
            subscription=bytes(member.subscription),
            assignment=bytes(member.assignment),
        )
        for member in stored.members
    )
    group = StoredGroup(
        group_id=group_id,
        protocol_type=stored.protocol_type,
        generation=stored.generation,
        protocol=stored.protocol,
        leader=stored.leader,
        state_timestamp_ms=stored.current_state_timestamp,
        members=members,
    )
    return GroupStored(group)

"""Pending offsets and producers in the bytes of `__consumer_offsets`: keys of our own versions, which other tools skip.

Strings are UTF-8 with their length in two bytes before them, as everywhere in these topics.
"""

import struct

from millstream_coordinator.core.transactions.pending_records import (
    OffsetPending,
    PendingOffset,
    PendingRecord,
    ProducerSeen,
    SeenProducer,
)
from millstream_wire.codec import DecodeError

PENDING_KEY = 19_796
PRODUCER_KEY = 19_797
_KEY = struct.Struct(">hq")
"""Key version, producer id."""
_LENGTH = struct.Struct(">H")
_PARTITION = struct.Struct(">i")
_OFFSET = struct.Struct(">hqiq")
"""Value version, offset, leader epoch, order."""
_PRODUCER = struct.Struct(">hhiqq")
"""Value version, epoch, coordinator epoch, markers, last time."""


def encode_pending_record(record: PendingRecord) -> tuple[bytes, bytes | None]:
    match record:
        case OffsetPending(producer_id, group_id, topic, partition, value):
            key = _KEY.pack(PENDING_KEY, producer_id) + _text(group_id) + _text(topic) + _PARTITION.pack(partition)
            if value is None:
                return key, None
            return key, _OFFSET.pack(0, value.offset, value.leader_epoch, value.order) + _text(value.metadata)
        case ProducerSeen(producer_id, seen):
            key = _KEY.pack(PRODUCER_KEY, producer_id)
            if seen is None:
                return key, None
            return key, _PRODUCER.pack(0, seen.epoch, seen.coordinator_epoch, seen.markers, seen.updated_ms)


def decode_pending(key: bytes, value: bytes | None) -> OffsetPending:
    try:
        _, producer_id = _KEY.unpack_from(key)
        group_id, position = _read_text(key, _KEY.size)
        topic, position = _read_text(key, position)
        (partition,) = _PARTITION.unpack_from(key, position)
        if value is None:
            return OffsetPending(producer_id, group_id, topic, partition, None)
        _, offset, leader_epoch, order = _OFFSET.unpack_from(value)
        metadata, _ = _read_text(value, _OFFSET.size)
    except (struct.error, UnicodeDecodeError) as error:
        raise DecodeError(f"pending offset: {error}") from None
    pending = PendingOffset(offset=offset, leader_epoch=leader_epoch, metadata=metadata, order=order)
    return OffsetPending(producer_id, group_id, topic, partition, pending)


def decode_producer(key: bytes, value: bytes | None) -> ProducerSeen:
    try:
        _, producer_id = _KEY.unpack_from(key)
        if value is None:
            return ProducerSeen(producer_id, None)
        _, epoch, coordinator_epoch, markers, updated_ms = _PRODUCER.unpack_from(value)
    except struct.error as error:
        raise DecodeError(f"producer: {error}") from None
    seen = SeenProducer(epoch=epoch, coordinator_epoch=coordinator_epoch, markers=markers, updated_ms=updated_ms)
    return ProducerSeen(producer_id, seen)


def _text(text: str) -> bytes:
    data = text.encode()
    return _LENGTH.pack(len(data)) + data


def _read_text(data: bytes, position: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, position)
    start = position + _LENGTH.size
    if start + length > len(data):
        raise struct.error(f"a text of {length} bytes with {len(data) - start} left")
    return data[start : start + length].decode(), start + length

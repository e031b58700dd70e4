"""The Produce that nearly every producer sends, read by hand: one batch for one partition, outside of transactions.

What it reads is what the codec reads of the same bytes (a test compares them); it takes a third of the time. Whatever looks
different, hostile bytes included, is left to the codec.
"""

from struct import Struct, error
from typing import Final
from uuid import UUID

from millstream_wire.primitive import uuid_of

FIRST_VERSION: Final = 9
"""From here on lengths are varints."""
_TOPIC_IDS_SINCE: Final = 13

_NULL: Final = 0
_ONE: Final = 2  # a compact array of one element
_UUID_BYTES: Final = 16
_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request: none
_LAST_SMALL: Final = 0x7F

# transactional id, acks, timeout, number of topics, length of the topic's name
_before_name: Final = Struct(">BhiBB")
_before_name_bytes: Final = 9
# number of partitions, the partition, first byte of the batch's length
_before_records: Final = Struct(">BiB")
_before_records_bytes: Final = 6


class SingleProduce:
    """`records` is a view into the request."""

    __slots__ = ("acks", "index", "records", "topic")

    def __init__(self, acks: int, topic: str | UUID, index: int, records: memoryview) -> None:
        self.acks = acks
        self.topic = topic
        self.index = index
        self.records = records


def read_single(frame: memoryview, position: int, version: int) -> SingleProduce | None:
    """Read the body at `position`, which has to end with the frame; None if it is not of this form."""
    if version < FIRST_VERSION:
        return None
    try:
        transactional_id, acks, _, topics, name_size = _before_name.unpack_from(frame, position)
        if transactional_id != _NULL or topics != _ONE:
            return None
        topic: str | UUID
        if version >= _TOPIC_IDS_SINCE:
            start = position + _before_name_bytes - 1  # an id has no length
            end = start + _UUID_BYTES
            topic = uuid_of(bytes(frame[start:end]))
        else:
            if not 0 < name_size <= _LAST_SMALL:
                return None
            start = position + _before_name_bytes
            end = start + name_size - 1
            topic = str(frame[start:end], "utf-8")
        partitions, index, byte = _before_records.unpack_from(frame, end)
        if partitions != _ONE:
            return None
        end += _before_records_bytes
        size, shift = byte & _LAST_SMALL, 7
        while byte > _LAST_SMALL:
            if shift > 28:
                return None
            byte = frame[end]
            end += 1
            size |= (byte & _LAST_SMALL) << shift
            shift += 7
    except (error, IndexError, UnicodeDecodeError, ValueError):
        return None
    start, end = end, end + size - 1
    # All that was read lies before this end: nothing was cut short.
    if size == _NULL or end + len(_TAGS) != len(frame) or bytes(frame[end:]) != _TAGS:
        return None
    return SingleProduce(acks, topic, index, frame[start:end])

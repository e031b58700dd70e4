"""The Produce that nearly every producer sends, read by hand: one batch for one partition, outside of transactions.

What it reads is what the codec reads of the same bytes (a test compares them); it takes a third of the time. Whatever looks
different, hostile bytes included, is left to the codec.
"""

from typing import Final
from uuid import UUID

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64

from millstream_wire.primitive import uuid_of

FIRST_VERSION: Final = 9
"""From here on lengths are varints."""
_TOPIC_IDS_SINCE: Final = 13

_NULL: Final = 0
_ONE: Final = 2  # a compact array of one element
_UUID_BYTES: Final = 16
_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request: none
_LAST_SMALL: Final = 0x7F

# Where things are: transactional id, acks, timeout, number of topics, length of the topic's name; then the name, or the id
# in the place of both, the number of partitions, the partition and the length of its batch.
_ACKS_AT: Final = 1
_TOPICS_AT: Final = 7
_TOPIC_AT: Final = 8
_PARTITION_BYTES: Final = 5
_HEAD_BYTES: Final = _TOPIC_AT + 1 + _LAST_SMALL + _PARTITION_BYTES + 5


class SingleProduce:
    """`records` is a view into the request if that is one, `encoded_topic` the name or id as it came: the answer has it again."""

    __slots__ = ("acks", "encoded_topic", "index", "records", "topic")

    def __init__(
        self, acks: int, topic: str | UUID, encoded_topic: bytes, index: int, records: bytes | memoryview
    ) -> None:
        self.acks = acks
        self.topic = topic
        self.encoded_topic = encoded_topic
        self.index = index
        self.records = records


def read_single(frame: bytes | memoryview, position: int, version: int) -> SingleProduce | None:
    """Read the body at `position`, which has to end with the frame; None if it is not of this form."""
    if version < FIRST_VERSION:
        return None
    head = frame[position:] if isinstance(frame, bytes) else bytes(frame[position : position + _HEAD_BYTES])
    topic: str | UUID
    try:
        if head[0] != _NULL or head[_TOPICS_AT] != _ONE:
            return None
        if version >= _TOPIC_IDS_SINCE:
            topic_end: i64 = _TOPIC_AT + _UUID_BYTES
            topic = uuid_of(head[_TOPIC_AT:topic_end])
        else:
            name_size: i64 = head[_TOPIC_AT]
            if name_size == 0 or name_size > _LAST_SMALL:
                return None
            topic_end = _TOPIC_AT + name_size
            topic = head[_TOPIC_AT + 1 : topic_end].decode()
        if head[topic_end] != _ONE:
            return None
        acks: int = read_i16_be(head, _ACKS_AT)
        index: int = read_i32_be(head, topic_end + 1)
        at: i64 = topic_end + _PARTITION_BYTES
        byte: i64 = head[at]
        at += 1
        size: i64 = byte & _LAST_SMALL
        shift: i64 = 7
        while byte > _LAST_SMALL:
            if shift > 28:
                return None
            byte = head[at]
            at += 1
            size |= (byte & _LAST_SMALL) << shift
            shift += 7
    except (IndexError, ValueError):
        return None
    start: int = position + at
    end: int = start + size - 1
    # All that was read lies before this end: nothing was cut short.
    if size == _NULL or end + len(_TAGS) != len(frame):
        return None
    if isinstance(frame, bytes):
        tags = frame[end:]
        records: bytes | memoryview = frame[start:end]
    else:
        tags = bytes(frame[end:])
        records = frame[start:end]
    if tags != _TAGS:
        return None
    return SingleProduce(acks, topic, head[_TOPIC_AT:topic_end], index, records)

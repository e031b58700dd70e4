"""The Produce that nearly every producer sends, read by hand: one batch for one partition, outside of transactions.

What it reads is what the codec reads of the same bytes (a test compares them); it takes a third of the time. Whatever looks
different, hostile bytes included, is left to the codec; only a compact name is taken as it came, and no topic has one that is not ASCII.
"""

from typing import Final, TypeAlias

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i32, i64, mypyc_attr

from millstream_wire.primitive import write_uvarint

FIRST_VERSION: Final = 3
COMPACT_SINCE: Final = 9
"""From here on lengths are varints, and there are tags."""
TOPIC_IDS_SINCE: Final = 13

_NULL: Final = 0
_ONE: Final = 2  # a compact array of one element
_UUID_BYTES: Final = 16
_TAGS_BYTES: Final = 3  # of the partition, the topic and the request: none
_LAST_SMALL: Final = 0x7F
_NAME_MAX_BYTES: Final = 249

# Where things are: transactional id, acks, timeout, number of topics, length of the topic's name; then the name, or the id
# in the place of both, the number of partitions, the partition and the length of its batch.
_ACKS_AT: Final = 1
_ACKS_BYTES: Final = 2
_TOPICS_AT: Final = 7
_TOPIC_AT: Final = 8
_PARTITION_BYTES: Final = 5
# The same before lengths were varints.
_FIXED_ACKS_AT: Final = 2
_FIXED_TOPICS_AT: Final = 8
_FIXED_TOPIC_AT: Final = 12
_FIXED_PARTITION_BYTES: Final = 12
_HEAD_BYTES: Final = _FIXED_TOPIC_AT + 2 + _NAME_MAX_BYTES + _FIXED_PARTITION_BYTES

_Read: TypeAlias = tuple[i64, i32, bytes, i32, i64, i64]
"""Acks, timeout, topic as it came, partition, where its records begin, and their size: -1 if all this is not of the usual form."""


@mypyc_attr(acyclic=True, free_list_len=1)
class SingleProduce:
    """The topic is its name or, as they came, its id or its compact name; `records` is a view into the request if that is one.

    `encoded_topic` is what the answer has again.
    """

    __slots__ = ("acks", "encoded_topic", "index", "records", "timeout_ms", "topic")

    def __init__(
        self,
        acks: i64,
        timeout_ms: i32,
        topic: str | bytes,
        encoded_topic: bytes,
        index: i32,
        records: bytes | memoryview,
    ) -> None:
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic = topic
        self.encoded_topic = encoded_topic
        self.index = index
        self.records = records


def compact_name(topic: str) -> bytes:
    """A topic's name as it is on the wire since lengths are varints. It is ASCII, so that no id of version 4 can be the same."""
    name = topic.encode()
    return write_uvarint(len(name) + 1) + name


def read_single(frame: bytes | memoryview, position: i64, version: i64) -> SingleProduce | None:
    """Read the body at `position`, which has to end with the frame; None if it is not of this form."""
    if isinstance(frame, bytes):
        head, base = frame, position
    else:
        head, base = bytes(frame[position : position + _HEAD_BYTES]), 0
    tags_bytes: i64 = 0
    try:
        if version >= COMPACT_SINCE:
            acks, timeout_ms, encoded_topic, index, at, size = _read_compact(
                head, base, by_id=version >= TOPIC_IDS_SINCE
            )
            tags_bytes = _TAGS_BYTES
        elif version >= FIRST_VERSION:
            acks, timeout_ms, encoded_topic, index, at, size = _read_fixed(head, base)
        else:
            return None
        topic: str | bytes = encoded_topic if version >= COMPACT_SINCE else encoded_topic[2:].decode()
    except (IndexError, ValueError):
        return None
    start: i64 = position - base + at
    end: i64 = start + size
    # All that was read lies before this end: nothing was cut short.
    if size < 0 or end + tags_bytes != len(frame):
        return None
    if isinstance(frame, bytes):  # each kind by itself: compiled, an index into one that is not known is a search
        tags = frame[end] | frame[end + 1] | frame[end + 2] if tags_bytes else 0
        records: bytes | memoryview = frame[start:end]
    else:
        tags = frame[end] | frame[end + 1] | frame[end + 2] if tags_bytes else 0
        records = frame[start:end]
    return None if tags else SingleProduce(acks, timeout_ms, topic, encoded_topic, index, records)


def _read_compact(head: bytes, base: i64, *, by_id: bool) -> _Read:
    acks: int = read_i16_be(head, base + _ACKS_AT)
    timeout_ms = read_i32_be(head, base + _ACKS_AT + _ACKS_BYTES)
    topic_at: i64 = base + _TOPIC_AT
    name_size: i64 = head[topic_at]  # and one
    topic_end: i64 = topic_at + (_UUID_BYTES if by_id else name_size)
    encoded_topic = head[topic_at:topic_end]
    index = read_i32_be(head, topic_end + 1)
    at: i64 = topic_end + _PARTITION_BYTES
    byte: i64 = head[at]
    at += 1
    size: i64 = byte & _LAST_SMALL
    shift: i64 = 7
    while byte > _LAST_SMALL and shift <= 28:
        byte = head[at]
        at += 1
        size |= (byte & _LAST_SMALL) << shift
        shift += 7
    is_usual = head[base] == _NULL and head[base + _TOPICS_AT] == _ONE and head[topic_end] == _ONE
    is_usual = is_usual and byte <= _LAST_SMALL and (by_id or 1 < name_size <= _LAST_SMALL)
    return acks, timeout_ms, encoded_topic, index, at, size - 1 if is_usual else -1


def _read_fixed(head: bytes, base: i64) -> _Read:
    acks: int = read_i16_be(head, base + _FIXED_ACKS_AT)
    timeout_ms = read_i32_be(head, base + _FIXED_ACKS_AT + _ACKS_BYTES)
    topic_at: i64 = base + _FIXED_TOPIC_AT
    name_size: int = read_i16_be(head, topic_at)
    topic_end: i64 = topic_at + 2 + max(name_size, 0)
    encoded_topic = head[topic_at:topic_end]
    index = read_i32_be(head, topic_end + 4)
    size: int = read_i32_be(head, topic_end + 8)
    one_topic, one_partition = read_i32_be(head, base + _FIXED_TOPICS_AT), read_i32_be(head, topic_end)
    is_usual = read_i16_be(head, base) == -1 and one_topic == 1 and one_partition == 1
    is_usual = is_usual and 0 < name_size <= _NAME_MAX_BYTES
    return acks, timeout_ms, encoded_topic, index, topic_end + _FIXED_PARTITION_BYTES, size if is_usual else -1

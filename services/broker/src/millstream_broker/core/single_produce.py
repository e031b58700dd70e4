"""The Produce that nearly every producer sends, read by hand: one batch for one partition, outside of transactions.

What it reads is what the codec reads of the same bytes (a test compares them); it takes a third of the time. Whatever looks
different, hostile bytes included, is left to the codec.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i32, i64, mypyc_attr

FIRST_VERSION: Final = 9
"""From here on lengths are varints."""
_TOPIC_IDS_SINCE: Final = 13

_NULL: Final = 0
_ONE: Final = 2  # a compact array of one element
_UUID_BYTES: Final = 16
_TAGS_BYTES: Final = 3  # of the partition, the topic and the request: none
_LAST_SMALL: Final = 0x7F

# Where things are: transactional id, acks, timeout, number of topics, length of the topic's name; then the name, or the id
# in the place of both, the number of partitions, the partition and the length of its batch.
_ACKS_AT: Final = 1
_TOPICS_AT: Final = 7
_TOPIC_AT: Final = 8
_PARTITION_BYTES: Final = 5
_HEAD_BYTES: Final = _TOPIC_AT + 1 + _LAST_SMALL + _PARTITION_BYTES + 5


@mypyc_attr(acyclic=True, free_list_len=1)
class SingleProduce:
    """The topic is its name or, as it came, its id; `records` is a view into the request if that is one.

    `encoded_topic` is what the answer has again.
    """

    __slots__ = ("acks", "encoded_topic", "index", "records", "topic")

    def __init__(
        self, acks: i64, topic: str | bytes, encoded_topic: bytes, index: i32, records: bytes | memoryview
    ) -> None:
        self.acks = acks
        self.topic = topic
        self.encoded_topic = encoded_topic
        self.index = index
        self.records = records


def read_single(frame: bytes | memoryview, position: i64, version: i64) -> SingleProduce | None:
    """Read the body at `position`, which has to end with the frame; None if it is not of this form."""
    if version < FIRST_VERSION:
        return None
    if isinstance(frame, bytes):
        head, base = frame, position
    else:
        head, base = bytes(frame[position : position + _HEAD_BYTES]), i64(0)
    try:
        if head[base] != _NULL or head[base + _TOPICS_AT] != _ONE:
            return None
        topic_at: i64 = base + _TOPIC_AT
        if version >= _TOPIC_IDS_SINCE:
            topic_end: i64 = topic_at + _UUID_BYTES
            encoded_topic = head[topic_at:topic_end]
            topic: str | bytes = encoded_topic
        else:
            name_size: i64 = head[topic_at]
            if name_size == 0 or name_size > _LAST_SMALL:
                return None
            topic_end = topic_at + name_size
            encoded_topic = head[topic_at:topic_end]
            topic = encoded_topic[1:].decode()
        if head[topic_end] != _ONE:
            return None
        acks = i64(read_i16_be(head, base + _ACKS_AT))
        index = read_i32_be(head, topic_end + 1)
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
    start: i64 = position - base + at
    end: i64 = start + size - 1
    # All that was read lies before this end: nothing was cut short.
    if size == _NULL or end + _TAGS_BYTES != len(frame):
        return None
    if isinstance(frame, bytes):  # each kind by itself: compiled, an index into one that is not known is a search
        tags = frame[end] | frame[end + 1] | frame[end + 2]
        records: bytes | memoryview = frame[start:end]
    else:
        tags = frame[end] | frame[end + 1] | frame[end + 2]
        records = frame[start:end]
    return None if tags else SingleProduce(acks, topic, encoded_topic, index, records)

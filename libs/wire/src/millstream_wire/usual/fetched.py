"""The answer to a follower's Fetch, read by hand: no error, nothing unusual about any partition.

What it reads is what the codec reads of the same bytes (a test compares them). Whatever looks different is left to the codec.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i32, i64, mypyc_attr

from millstream_wire.usual.fetch_response import TOPIC_IDS_SINCE

_HEAD_BYTES: Final = 16  # correlation id, tags, throttle time, error, session id, topics
_TOPICS_AT: Final = 15
_UUID_BYTES: Final = 16
_PARTITION_BYTES: Final = 35  # index, error, three offsets, aborted transactions, preferred replica
_PARTITION_HEAD_BYTES: Final = _PARTITION_BYTES + 5  # and how long the records are
_LAST_SMALL: Final = 0x7F
_NULL: Final = 0
_EMPTY: Final = 1
_NONE_PREFERRED: Final = -1


@mypyc_attr(acyclic=True)
class PartitionFetched:
    """What came of one partition; its topic as it came, and its records: a view into the answer if that is one."""

    __slots__ = ("high_watermark", "index", "log_start_offset", "records", "topic")

    def __init__(
        self, topic: bytes, index: i32, high_watermark: i64, log_start_offset: i64, records: bytes | memoryview
    ) -> None:
        self.topic = topic
        self.index = index
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.records = records


@mypyc_attr(acyclic=True)
class Fetched:
    __slots__ = ("partitions", "session_id")

    def __init__(self, session_id: i32, partitions: list[PartitionFetched]) -> None:
        self.session_id = session_id
        self.partitions = partitions


def read_fetched(frame: bytes | memoryview, version: i64) -> Fetched | None:
    """Read the whole answer, correlation id included; None if it is not of this form."""
    if version < TOPIC_IDS_SINCE:
        return None
    try:
        return _read(frame)
    except (IndexError, ValueError):
        return None


def _read(frame: bytes | memoryview) -> Fetched | None:
    head = bytes(frame[:_HEAD_BYTES])
    session_id = read_i32_be(head, 11)
    topics: i64 = head[_TOPICS_AT]
    if head[4] or read_i32_be(head, 5) or read_i16_be(head, 9) or not 0 < topics <= _LAST_SMALL:
        return None
    partitions: list[PartitionFetched] = []
    at: i64 = _TOPICS_AT + 1
    end: i64 = len(frame)
    while topics > 1:
        topic = bytes(frame[at : at + _UUID_BYTES])
        at += _UUID_BYTES
        count: i64 = _byte(frame, at)
        at += 1
        if not 0 < count <= _LAST_SMALL:
            return None
        while count > 1:
            head = bytes(frame[at : at + _PARTITION_HEAD_BYTES])
            index = read_i32_be(head, 0)
            aborted: i64 = head[30]
            if read_i16_be(head, 4) or aborted > _EMPTY or read_i32_be(head, 31) != _NONE_PREFERRED:
                return None
            size: i64 = 0
            shift: i64 = 0
            length_at: i64 = _PARTITION_BYTES
            byte: i64 = _LAST_SMALL + 1
            while byte > _LAST_SMALL:
                if shift > 28:
                    return None
                byte = head[length_at]
                size |= (byte & _LAST_SMALL) << shift
                length_at += 1
                shift += 7
            start: i64 = at + length_at
            at = start + size - 1
            if size == _NULL or at >= end or _byte(frame, at):  # tags
                return None
            partitions.append(
                PartitionFetched(topic, index, read_i64_be(head, 6), read_i64_be(head, 22), frame[start:at])
            )
            at += 1
            count -= 1
        if _byte(frame, at):
            return None
        at += 1
        topics -= 1
    if at + 1 != end or _byte(frame, at):
        return None
    return Fetched(session_id, partitions)


def _byte(frame: bytes | memoryview, at: i64) -> i64:
    """Each kind by itself: compiled, an index into one that is not known is a search."""
    if isinstance(frame, bytes):
        return frame[at]
    byte: int = frame[at]
    return byte

"""The answer that nearly every Fetch gets, written by hand: one partition, no error, no aborted transactions.

The bytes are those that the codec makes of a FetchResponse (a test compares them); it takes a fraction of the time.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

LOG_START_SINCE: Final = 5
SESSIONS_SINCE: Final = 7
PREFERRED_REPLICA_SINCE: Final = 11
COMPACT_SINCE: Final = 12
"""From here on lengths are varints, and there are tags."""
TOPIC_IDS_SINCE: Final = 13
"""The first version of Fetch that names topics by their ids."""

_ONE: Final = 2  # a compact array of one element
_EMPTY: Final = 1
_NULL: Final = 0
_NONE_PREFERRED: Final = -1
_NO_TAGS: Final = 0
TAIL: Final = b"\0\0\0"
"""Tags of the partition, the topic and the answer: none."""


def head_of_one(
    version: i64,
    session_id: i32,
    topic: str | bytes,
    index: i32,
    *,
    high_watermark: i64,
    last_stable_offset: i64,
    log_start_offset: i64,
    says_aborted: bool,
    size: i64,
) -> bytes:
    """Everything between the correlation id and the records, which have `size` bytes; the topic is its name, or the bytes of its id.

    `says_aborted`: the list of aborted transactions is empty, not missing.
    """
    is_compact = version >= COMPACT_SINCE
    reply = BytesWriter()
    if is_compact:
        reply.append(_NO_TAGS)
    write_i32_be(reply, 0)  # not throttled
    if version >= SESSIONS_SINCE:
        write_i16_be(reply, 0)  # no error
        write_i32_be(reply, session_id)
    _put_count(reply, is_compact)
    if isinstance(topic, bytes):
        reply.write(topic)
    else:
        name = topic.encode()
        if is_compact:
            _put_uvarint(reply, len(name) + 1)
        else:
            write_i16_be(reply, len(name))
        reply.write(name)
    _put_count(reply, is_compact)
    write_i32_be(reply, index)
    write_i16_be(reply, 0)  # no error
    write_i64_be(reply, high_watermark)
    write_i64_be(reply, last_stable_offset)
    if version >= LOG_START_SINCE:
        write_i64_be(reply, log_start_offset)
    if is_compact:
        reply.append(_EMPTY if says_aborted else _NULL)
    else:
        write_i32_be(reply, 0 if says_aborted else -1)
    if version >= PREFERRED_REPLICA_SINCE:
        write_i32_be(reply, _NONE_PREFERRED)
    if is_compact:
        _put_uvarint(reply, size + 1)
    else:
        write_i32_be(reply, i32(size))
    return reply.getvalue()


def _put_count(reply: BytesWriter, is_compact: bool) -> None:
    if is_compact:
        reply.append(_ONE)
    else:
        write_i32_be(reply, 1)


def _put_uvarint(reply: BytesWriter, value: i64) -> None:
    while value >= 0x80:
        reply.append(int(value & 0x7F) | 0x80)
        value >>= 7
    reply.append(int(value))

"""The answer that nearly every Produce gets, written by hand: one batch, one partition, no error.

The bytes are those that the codec makes of a ProduceResponse (a test compares them); it takes a fraction of the time.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

from millstream_wire.usual.produce_request import COMPACT_SINCE

START_OFFSET_SINCE: Final = 5
RECORD_ERRORS_SINCE: Final = 8

# of the response header; then: one topic
_HEAD: Final = b"\x00\x02"
_ONE_PARTITION: Final = 2
# no record errors, no message, tags; topic's tags, throttle, tags
_TAIL: Final = b"\x01\x00\x00\x00\x00\x00\x00\x00\x00"


def one_success(
    version: i64,
    correlation_id: i32,
    encoded_topic: bytes,
    index: i32,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
) -> bytes:
    """The whole answer; the topic is as it came."""
    reply = BytesWriter()
    write_i32_be(reply, correlation_id)
    is_compact = version >= COMPACT_SINCE
    if is_compact:
        reply.write(_HEAD)
        reply.write(encoded_topic)
        reply.append(_ONE_PARTITION)
    else:
        write_i32_be(reply, 1)
        reply.write(encoded_topic)
        write_i32_be(reply, 1)
    write_i32_be(reply, index)
    write_i16_be(reply, 0)  # no error
    write_i64_be(reply, base_offset)
    write_i64_be(reply, log_append_time_ms)
    if version >= START_OFFSET_SINCE:
        write_i64_be(reply, log_start_offset)
    if is_compact:
        reply.write(_TAIL)
        return reply.getvalue()
    if version >= RECORD_ERRORS_SINCE:
        write_i32_be(reply, 0)
        write_i16_be(reply, -1)
    write_i32_be(reply, 0)  # not throttled
    return reply.getvalue()

"""The answer that nearly every Produce gets, written by hand: one batch, one partition, no error.

The bytes are those that the codec makes of a ProduceResponse (a test compares them); it takes a fraction of the time.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

# of the response header; then: one topic
_HEAD: Final = b"\x00\x02"
_ONE_PARTITION: Final = 2
# no record errors, no message, tags; topic's tags, throttle, tags
_TAIL: Final = b"\x01\x00\x00\x00\x00\x00\x00\x00\x00"


def one_success(
    correlation_id: i32,
    encoded_topic: bytes,
    index: i32,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
) -> bytes:
    """The whole answer, for versions from 9 on; the topic is its name, from 13 on its id."""
    reply = BytesWriter()
    write_i32_be(reply, correlation_id)
    reply.write(_HEAD)
    reply.write(encoded_topic)
    reply.append(_ONE_PARTITION)
    write_i32_be(reply, index)
    write_i16_be(reply, 0)  # no error
    write_i64_be(reply, base_offset)
    write_i64_be(reply, log_append_time_ms)
    write_i64_be(reply, log_start_offset)
    reply.write(_TAIL)
    return reply.getvalue()

"""The answer that nearly every Produce gets, written by hand: one batch, one partition, no error.

The bytes are those that the codec makes of a ProduceResponse (a test compares them); it takes a fraction of the time.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be

# of the response header; then: one topic
_HEAD: Final = b"\x00\x02"
_ONE_PARTITION: Final = 2
# no record errors, no message, tags; topic's tags, throttle, tags
_TAIL: Final = b"\x01\x00\x00\x00\x00\x00\x00\x00\x00"


def one_success(
    encoded_topic: bytes, index: int, base_offset: int, log_append_time_ms: int, log_start_offset: int
) -> bytes:
    """Everything after the correlation id, for versions from 9 on; the topic is its name, from 13 on its id."""
    reply = BytesWriter()
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

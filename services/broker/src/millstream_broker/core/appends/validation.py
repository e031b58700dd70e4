"""What a broker checks of a produced batch before it may be appended, in Kafka's order and with Kafka's errors.

Bytes in, header or refusal out. What needs the log (producer state, offsets) is checked there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.topic_settings import NO_LIMIT_MS, TopicSettings
from millstream_log import TopicPartition
from millstream_wire.errors import ErrorCode
from millstream_wire.records import (
    HEADER_SIZE,
    BatchHeader,
    Compression,
    RecordsError,
    TimestampType,
    check,
    check_produced,
    is_intact,
    keyless,
    records_of,
    untimely,
    walk,
)

ZSTD_SINCE: Final = 7
"""The first version of Produce whose clients know zstd."""

# A batch may decompress to many times its size; nobody's legitimate batch gets here, a bomb does.
DECOMPRESSED_MAX_BYTES: Final = 128 << 20
COMPRESSED_RECORDS_MAX: Final = 1 << 20

REFUSALS_MAX: Final = 1000
"""How many of a batch's bad records are named; a producer treats those that are not named like the rest of the batch."""

_COMPRESSED: Final = 0x07
_UNUSUAL: Final = 0x0F  # compression, append time: anything that not every client may send to every topic

_LENGTH_PREFIX: Final = 12
_MAGIC_AT: Final = 16
_length: Final = Struct(">i")


@dataclass(frozen=True, slots=True)
class RecordRefusal:
    """One record that made its batch unacceptable."""

    batch_index: int
    message: str


class Refused(Exception):
    """A batch that is not appended, and what its producer is told."""

    def __init__(self, code: int, message: str, records: tuple[RecordRefusal, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.records = records


def validate(
    batch: memoryview | bytearray | bytes | None,
    settings: TopicSettings,
    name: TopicPartition,
    *,
    version: i64,
    now_ms: i64,
    trusted: bool,
) -> BatchHeader:
    """Check everything about a produced batch; `trusted` producers (our own coordinators) are spared the records."""
    if batch is None:
        raise Refused(ErrorCode.INVALID_RECORD, f"Produce {version} needs one record batch per partition")
    try:
        header = check(batch)
        check_produced(header)
    except RecordsError as error:
        raise _reason(batch, settings, version, error) from error
    size = len(batch)
    if size > settings.max_message_bytes or size > settings.log.segment_bytes:
        raise _too_large(size, settings)
    attributes = header.attributes
    if attributes & _UNUSUAL:
        _check_attributes(header, settings, version)
    if trusted:
        return header
    try:
        if attributes & _COMPRESSED or settings.compacts:
            _check_encoded_records(batch, header, settings, name)
        else:
            walk(batch if isinstance(batch, bytes) else bytes(batch), HEADER_SIZE, size, header.record_count)
    except RecordsError as error:
        raise Refused(error.error_code, str(error)) from error
    latest = header.max_timestamp if header.max_timestamp > header.base_timestamp else header.base_timestamp
    is_late = latest > now_ms and latest - now_ms > settings.timestamp_after_max_ms
    if is_late or settings.timestamp_before_max_ms < NO_LIMIT_MS:
        _check_timestamps(batch, header, settings, now_ms)
    return header


def _reason(
    batch: memoryview | bytearray | bytes, settings: TopicSettings, version: int, error: RecordsError
) -> Refused:
    """Why a batch failed its checks, in the order in which Kafka looks: frame and format first, then size, then content."""
    if len(batch) < HEADER_SIZE:
        return Refused(ErrorCode.INVALID_RECORD, f"Produce {version} needs one record batch per partition")
    size = _length.unpack_from(batch, 8)[0] + _LENGTH_PREFIX
    if batch[_MAGIC_AT] < 2:
        return Refused(ErrorCode.INVALID_RECORD, f"Produce {version} takes record batches of magic 2 only")
    if size < HEADER_SIZE or batch[_MAGIC_AT] > 2:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"A batch of magic {batch[_MAGIC_AT]} declares {size} bytes")
    if size < len(batch) and not is_intact(batch[:size]):
        return Refused(ErrorCode.CORRUPT_MESSAGE, "The checksum does not match")
    if size != len(batch):
        return Refused(ErrorCode.INVALID_RECORD, f"Produce {version} takes exactly one whole batch per partition")
    if size > settings.max_message_bytes or size > settings.log.segment_bytes:
        return _too_large(size, settings)
    return Refused(error.error_code, str(error))


def _too_large(size: int, settings: TopicSettings) -> Refused:
    if size > settings.max_message_bytes:
        return Refused(
            ErrorCode.MESSAGE_TOO_LARGE, f"A batch of {size} bytes is larger than the topic's max.message.bytes"
        )
    return Refused(ErrorCode.RECORD_LIST_TOO_LARGE, f"A batch of {size} bytes is larger than a segment")


def _check_attributes(header: BatchHeader, settings: TopicSettings, version: int) -> None:
    if header.compression == Compression.ZSTD and version < ZSTD_SINCE:
        raise Refused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce {version} is older than zstd, which needs {ZSTD_SINCE}"
        )
    # Elsewhere the records have what their producer says is the time of their append.
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME and settings.log_append_time:
        message = "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime."
        _refuse(
            ErrorCode.INVALID_TIMESTAMP, ((index, message) for index in range(min(header.record_count, REFUSALS_MAX)))
        )


def _check_encoded_records(
    batch: memoryview | bytearray | bytes, header: BatchHeader, settings: TopicSettings, name: TopicPartition
) -> None:
    """Look inside: unfold what is compressed, find the keys where the topic is compacted."""
    records = _unfolded(batch, header)
    walk(records, 0, len(records), header.record_count)
    if settings.compacts:
        message = f"Compacted topic cannot accept message without key in topic partition {name}"
        _refuse(ErrorCode.INVALID_RECORD, ((index, message) for index in keyless(records, REFUSALS_MAX)))


def _check_timestamps(
    batch: memoryview | bytearray | bytes, header: BatchHeader, settings: TopicSettings, now_ms: int
) -> None:
    """Look at every record: the header's largest timestamp is suspicious, or the topic limits their age."""
    if settings.log_append_time:
        return
    before_max_ms, after_max_ms = int(settings.timestamp_before_max_ms), int(settings.timestamp_after_max_ms)
    latest = now_ms + after_max_ms  # which no machine word may hold
    earliest = now_ms - before_max_ms if before_max_ms < NO_LIMIT_MS else -NO_LIMIT_MS
    found = untimely(_unfolded(batch, header), header.base_timestamp, earliest, latest, REFUSALS_MAX)
    limits = f"The timestamp should be within [{now_ms - before_max_ms}, {latest}]"
    _refuse(
        ErrorCode.INVALID_TIMESTAMP,
        (
            (index, f"Timestamp {timestamp} of message with offset {index} is out of range. {limits}")
            for index, timestamp in found
        ),
    )


def _unfolded(batch: memoryview | bytearray | bytes, header: BatchHeader) -> bytes:
    if header.attributes & _COMPRESSED and header.record_count > COMPRESSED_RECORDS_MAX:
        raise Refused(ErrorCode.INVALID_RECORD, f"{header.record_count} records are too many for one compressed batch")
    return records_of(batch, header, limit=DECOMPRESSED_MAX_BYTES)


def _refuse(code: ErrorCode, found: Iterable[tuple[int, str]]) -> None:
    refusals = tuple(RecordRefusal(index, text) for index, text in found)
    if not refusals:
        return
    if code is ErrorCode.INVALID_TIMESTAMP:
        raise Refused(code, "One or more records have been rejected due to invalid timestamp", refusals)
    first = ", ".join(f"RecordError(batchIndex={each.batch_index}, message='{each.message}')" for each in refusals[:3])
    message = (
        f"One or more records have been rejected due to {len(refusals)} record errors in total, "
        f"and only showing the first three errors at most: [{first}]"
    )
    raise Refused(code, message, refusals)

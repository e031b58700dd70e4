"""What can be wrong with a batch of records, each with the error code that Kafka answers.

The broker puts `error.error_code` into the partition's response; nothing else here depends on the rest of the codec.
"""

from typing import ClassVar

from millstream_wire.errors import ErrorCode


class RecordsError(Exception):
    """Root of everything that reading or validating records raises."""

    error_code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR


class CorruptBatch(RecordsError):
    """The bytes are not what their writer meant: torn, garbled, or a wrong checksum."""

    error_code = ErrorCode.CORRUPT_MESSAGE


class InvalidTimestamp(RecordsError):
    error_code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedFormat(RecordsError):
    """A batch of the formats before Kafka 0.11 (magic 0 and 1)."""

    error_code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class UnsupportedCompression(RecordsError):
    error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidRecord(RecordsError):
    """Intact bytes that break a rule of the format: counts, deltas, sequences, keys."""

    error_code = ErrorCode.INVALID_RECORD


class TooLarge(InvalidRecord):
    """Records that decompress to more than their reader allows."""

"""Record batches (message format 2): headers, records, compression; no I/O."""

from millstream_wire.records.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    check,
    check_counts,
    check_produced,
    is_intact,
    parse_header,
    split,
    stamp,
    stamp_log_append_time,
)
from millstream_wire.records.compression import Compression, compress, decompress
from millstream_wire.records.end_marker import EndMarker
from millstream_wire.records.errors import (
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    RecordsError,
    TooLarge,
    UnsupportedCompression,
    UnsupportedFormat,
)
from millstream_wire.records.record import (
    DECOMPRESSED_LIMIT,
    Header,
    Record,
    decode_batch,
    decode_batches,
    encode_batch,
    records_of,
)
from millstream_wire.records.retained import EncodedRecord, encoded_records, retain_header, retain_records
from millstream_wire.records.survey import first_since, keyless, untimely
from millstream_wire.records.walk import walk

__all__ = [
    "DECOMPRESSED_LIMIT",
    "HEADER_SIZE",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Compression",
    "CorruptBatch",
    "EncodedRecord",
    "EndMarker",
    "Header",
    "InvalidRecord",
    "InvalidTimestamp",
    "Record",
    "RecordsError",
    "TimestampType",
    "TooLarge",
    "UnsupportedCompression",
    "UnsupportedFormat",
    "check",
    "check_counts",
    "check_produced",
    "compress",
    "decode_batch",
    "decode_batches",
    "decompress",
    "encode_batch",
    "encoded_records",
    "first_since",
    "is_intact",
    "keyless",
    "parse_header",
    "records_of",
    "retain_header",
    "retain_records",
    "split",
    "stamp",
    "stamp_log_append_time",
    "untimely",
    "walk",
]

"""Segmented logs in Kafka's directory format."""

from millstream_log.append_result import AppendResult, Copied
from millstream_log.checkpoint import TopicPartition
from millstream_log.config import LogConfig, MessageTimestampType
from millstream_log.data_dir import DataDir
from millstream_log.errors import (
    ColdRead,
    CorruptFile,
    InvalidProducerEpoch,
    LogError,
    OffsetOutOfRange,
    OutOfOrderSequence,
    StorageError,
    TransactionCoordinatorFenced,
    UnusableDirectory,
)
from millstream_log.file_slice import FileSlice
from millstream_log.flush import Flush
from millstream_log.leader_epochs import EpochEnd, EpochStart
from millstream_log.log import Log
from millstream_log.producer_state import AppendedBatch, ProducerEntry
from millstream_log.retention import KEEPS_ALL, Retention, expired_segments
from millstream_log.segment import Read, Segment, TimestampedOffset
from millstream_log.slice_batches import SlicedBatch, batches_of
from millstream_log.transaction_index import AbortedTransaction

__all__ = [
    "KEEPS_ALL",
    "AbortedTransaction",
    "AppendResult",
    "AppendedBatch",
    "ColdRead",
    "Copied",
    "CorruptFile",
    "DataDir",
    "EpochEnd",
    "EpochStart",
    "FileSlice",
    "Flush",
    "InvalidProducerEpoch",
    "Log",
    "LogConfig",
    "LogError",
    "MessageTimestampType",
    "OffsetOutOfRange",
    "OutOfOrderSequence",
    "ProducerEntry",
    "Read",
    "Retention",
    "Segment",
    "SlicedBatch",
    "StorageError",
    "TimestampedOffset",
    "TopicPartition",
    "TransactionCoordinatorFenced",
    "UnusableDirectory",
    "batches_of",
    "expired_segments",
]

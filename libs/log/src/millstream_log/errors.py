"""What can go wrong with a log, each with the error code that Kafka answers where it has one."""

from pathlib import Path
from typing import ClassVar

from millstream_log.page_cache import load
from millstream_wire.errors import ErrorCode


class ColdRead(Exception):
    """Nothing went wrong, but to go on would wait for the disk: `load` in a thread, then ask again."""

    def __init__(self, path: Path, position: int, length: int) -> None:
        super().__init__(f"{path} at {position}")
        self._path = path
        self._position = position
        self._length = length

    def load(self) -> None:
        """Wait for the disk. What keeps it from reading, or took the file away, whoever asks again will see."""
        try:
            with self._path.open("rb") as file:
                load(file.fileno(), self._length, self._position)
        except OSError:
            return


class LogError(Exception):
    """Root of everything that this package raises on purpose."""

    error_code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRange(LogError):
    """An offset before the log's start or after its end."""

    error_code = ErrorCode.OFFSET_OUT_OF_RANGE


class OutOfOrderSequence(LogError):
    error_code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpoch(LogError):
    """A producer that a newer one with the same id has replaced."""

    error_code = ErrorCode.INVALID_PRODUCER_EPOCH


class TransactionCoordinatorFenced(LogError):
    """A transaction's end marker from a coordinator that another has replaced."""

    error_code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class InvalidTransactionState(LogError):
    """A batch outside the transaction that its producer has under way."""

    error_code = ErrorCode.INVALID_TXN_STATE


class StorageError(LogError):
    """The file system refused; what had been written before is intact."""

    error_code = ErrorCode.KAFKA_STORAGE_ERROR


class CorruptFile(LogError):
    """A file beside the segments does not hold what its name promises; its reader rebuilds or does without."""


class UnusableDirectory(LogError):
    """A data directory that this node must not touch (in use, of another cluster, of another node), or that its disk keeps from it.

    Only the last has an OSError as its cause.
    """

"""One transactional id: its producer, and the transaction it has under way or had last."""

from enum import Enum

from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_wire.late_dataclass import dataclass

EPOCH_LAST = 32_766
"""The last epoch that a producer is given: one more is kept for fencing it, after that it gets a new producer id."""
NO_EPOCH = -1
NO_PRODUCER = -1
NO_START = -1

EPOCH_KEPT = 0
"""Transactions of versions 0 and 1: a producer goes on under the epoch that it has."""
EPOCH_BUMPED = 2
"""Transactions version 2: the end of each transaction gives its producer another epoch (KIP-890)."""


class TransactionState(Enum):
    """By Kafka's names; the values are those of its log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6

    @property
    def is_prepared(self) -> bool:
        """Decided, and its markers are being written: nothing stops it any more."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def text(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """Partitions are those of the transaction under way; without one there are none. `start_ms` is that of the last one too.

    Under version 2 the epoch of a transaction whose end is decided is already that of the producer's next one: its markers
    carry it, and whatever still comes under the old epoch is refused wherever they are.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    previous_producer_id: int = NO_PRODUCER
    """The producer's id before its last epoch, if it may ask for that epoch as what it was (again); else none."""
    next_producer_id: int = NO_PRODUCER
    """Answered to the end of a transaction that used up the epochs; the producer's id once the markers are written."""
    client_version: int = EPOCH_KEPT
    """Which version's rules the transaction under way follows, or the last one did."""
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_START
    updated_ms: int

    @property
    def previous_epoch(self) -> int:
        """The epoch that the producer has just left by asking for the next one."""
        if self.previous_producer_id == NO_PRODUCER:
            return NO_EPOCH
        return self.producer_epoch - 1 if self.previous_producer_id == self.producer_id else EPOCH_LAST

    @property
    def answer(self) -> tuple[int, int]:
        """The producer id and epoch that the producer goes on with after the end of a transaction."""
        if self.next_producer_id != NO_PRODUCER:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def is_overdue(self, now_ms: int) -> bool:
        return self.state is TransactionState.ONGOING and now_ms - self.start_ms >= self.timeout_ms

    def is_unused(self, now_ms: int, expiration_ms: int) -> bool:
        """Whether nothing is under way and nobody has asked for anything for so long."""
        is_over = self.state is not TransactionState.ONGOING and not self.state.is_prepared
        return is_over and now_ms - self.updated_ms >= expiration_ms

    def check(self) -> None:
        under_way = self.state is TransactionState.ONGOING or self.state.is_prepared
        assert under_way or not self.partitions
        assert self.start_ms != NO_START or not under_way
        assert self.start_ms == NO_START or self.state is not TransactionState.EMPTY
        assert 0 <= self.producer_epoch <= EPOCH_LAST + 1
        assert self.next_producer_id == NO_PRODUCER or self.state.is_prepared
        # Nobody is ever given the epoch that is kept for fencing.
        assert self.producer_epoch <= EPOCH_LAST or self.state is not TransactionState.ONGOING

"""InitProducerId as a decision: one producer at a time writes under a transactional id, and each newer one silences the last."""

from dataclasses import replace

from millstream_cluster.decision import Decision
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import (
    EPOCH_BUMPED,
    EPOCH_LAST,
    NO_EPOCH,
    NO_PRODUCER,
    NO_START,
    Transaction,
    TransactionState,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_PRODUCER
    producer_epoch: int = NO_EPOCH
    """What the producer was before, if it only wants its next epoch (KIP-360)."""


@dataclass(frozen=True, slots=True)
class Initialized:
    """The answer; `wants_id` asks for the same command again, with an unused producer id."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER
    producer_epoch: int = NO_EPOCH
    wants_id: bool = False


Initialization = Decision[TransactionRecord, Initialized]


def init_producer(
    shard: TransactionShard, request: InitRequest, unused_id: int | None, now_ms: int, *, timeout_max_ms: int
) -> Initialization:
    """Give the transactional id's next producer its id and epoch; a transaction under way is aborted first."""
    if not request.transactional_id:
        return _refuse(ErrorCode.INVALID_REQUEST)
    if not 0 < request.timeout_ms <= timeout_max_ms:
        return _refuse(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    known = shard.transactions.get(request.transactional_id)
    if known is None:
        return _begin(request, unused_id, now_ms)
    ids = (NO_PRODUCER, known.producer_id, known.previous_producer_id, known.next_producer_id)
    if request.producer_id not in ids:
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if known.state.is_prepared:
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if known.state is TransactionState.ONGOING:
        if request.producer_id != NO_PRODUCER and not _is_current(request, known):
            return _refuse(ErrorCode.PRODUCER_FENCED)
        # The epoch silences the producer at once; only itself can still have it, by asking as what it was (KIP-588).
        return Decision((TransactionStored(fenced(known, now_ms)),), Initialized(ErrorCode.CONCURRENT_TRANSACTIONS))
    return _next_epoch(known, request, unused_id, now_ms)


def fenced(transaction: Transaction, now_ms: int) -> Transaction:
    """The transaction, to be aborted under an epoch that its producer does not have."""
    epoch = transaction.producer_epoch + 1
    return replace(
        transaction,
        producer_epoch=epoch,
        previous_producer_id=transaction.producer_id if epoch <= EPOCH_LAST else NO_PRODUCER,
        state=TransactionState.PREPARE_ABORT,
        client_version=EPOCH_BUMPED,
        updated_ms=now_ms,
    )


def _begin(request: InitRequest, unused_id: int | None, now_ms: int) -> Initialization:
    if unused_id is None:
        return Decision((), Initialized(wants_id=True))
    transaction = Transaction(
        transactional_id=request.transactional_id,
        producer_id=unused_id,
        producer_epoch=0,
        timeout_ms=request.timeout_ms,
        state=TransactionState.EMPTY,
        updated_ms=now_ms,
    )
    return _given(transaction)


def _next_epoch(known: Transaction, request: InitRequest, unused_id: int | None, now_ms: int) -> Initialization:
    asks_again = request.producer_id != NO_PRODUCER
    if asks_again and not _is_current(request, known):
        if _left_just_now(request, known):
            # Its first request was carried out, the answer got lost; or its transaction was aborted for it.
            return _given(_emptied(known, request, now_ms))
        return _refuse(ErrorCode.PRODUCER_FENCED)
    exhausted = known.producer_epoch >= EPOCH_LAST
    if exhausted and unused_id is None:
        return Decision((), Initialized(wants_id=True))
    transaction = replace(
        _emptied(known, request, now_ms),
        producer_epoch=known.producer_epoch + 1,
        previous_producer_id=known.producer_id if asks_again else NO_PRODUCER,
    )
    if exhausted and unused_id is not None:
        transaction = replace(transaction, producer_id=unused_id, producer_epoch=0)
    return _given(transaction)


def _emptied(known: Transaction, request: InitRequest, now_ms: int) -> Transaction:
    return replace(
        known, timeout_ms=request.timeout_ms, state=TransactionState.EMPTY, start_ms=NO_START, updated_ms=now_ms
    )


def _is_current(request: InitRequest, known: Transaction) -> bool:
    return (request.producer_id, request.producer_epoch) == (known.producer_id, known.producer_epoch)


def _left_just_now(request: InitRequest, known: Transaction) -> bool:
    """Nobody else came since, or what was before would be forgotten."""
    return (request.producer_id, request.producer_epoch) == (known.previous_producer_id, known.previous_epoch)


def _given(transaction: Transaction) -> Initialization:
    given = Initialized(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch)
    return Decision((TransactionStored(transaction),), given)


def _refuse(error: ErrorCode) -> Initialization:
    return Decision((), Initialized(error))

"""EndTxn under transactions version 2: whatever ends, ends together with the producer's epoch (KIP-890).

A producer names the epoch of the transaction that it means to end, so that asking again is told from ending the next one.
"""

from dataclasses import replace

from millstream_cluster.decision import Decision
from millstream_coordinator.core.transactions.courses import PREPARED, Producer
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import (
    EPOCH_BUMPED,
    EPOCH_LAST,
    NO_EPOCH,
    NO_PRODUCER,
    Transaction,
    TransactionState,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

State = TransactionState


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer, with what the producer goes on with; `wants_id` asks for the same command again, with an unused producer id."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER
    producer_epoch: int = NO_EPOCH
    wants_id: bool = False


Ending = Decision[TransactionRecord, Ended]


def end_and_bump(
    shard: TransactionShard, producer: Producer, unused_id: int | None, now_ms: int, *, commit: bool
) -> Ending:
    """Decide how the producer's transaction ends, and under which id and epoch it goes on."""
    if not producer.transactional_id:
        return _refuse(ErrorCode.INVALID_REQUEST)
    known = shard.transactions.get(producer.transactional_id)
    if known is None:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    asks_again = _asks_again(producer, known)
    if known.state.is_prepared and producer.producer_id in (known.producer_id, known.next_producer_id):
        return _refuse(ErrorCode.CONCURRENT_TRANSACTIONS)
    if known.producer_id != producer.producer_id and not asks_again:
        return _refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if known.producer_epoch != producer.epoch and not asks_again:
        return _refuse(ErrorCode.PRODUCER_FENCED)
    if asks_again:
        ended_so = known.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)
        return Decision((), _answer(known)) if ended_so else _refuse(ErrorCode.INVALID_TXN_STATE)
    if commit and known.state is not State.ONGOING:
        return _refuse(ErrorCode.INVALID_TXN_STATE)
    exhausted = known.producer_epoch >= EPOCH_LAST
    if exhausted and unused_id is None:
        return Decision((), Ended(wants_id=True))
    next_id = unused_id if exhausted and unused_id is not None else NO_PRODUCER
    if known.state is State.ONGOING:
        ended = _prepared(known, PREPARED[commit], next_id, now_ms)
    else:
        ended = _left_empty(known, next_id, now_ms)
    return Decision((TransactionStored(ended),), _answer(ended))


def _asks_again(producer: Producer, known: Transaction) -> bool:
    """Whether the transaction that the producer wants to end is the one that ended last: the answer got lost.

    Of transactions that took too long too: a producer that aborts such a one learns its epoch by that, as in Kafka.
    """
    if known.client_version < EPOCH_BUMPED or known.producer_epoch > EPOCH_LAST:
        return False
    if known.state not in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
        return False
    if known.producer_epoch == 0:
        return (producer.producer_id, producer.epoch) == (known.previous_producer_id, EPOCH_LAST)
    return (producer.producer_id, producer.epoch) == (known.producer_id, known.producer_epoch - 1)


def _prepared(known: Transaction, state: State, next_id: int, now_ms: int) -> Transaction:
    return replace(
        known,
        producer_epoch=known.producer_epoch + 1,
        previous_producer_id=known.producer_id,
        next_producer_id=next_id,
        state=state,
        client_version=EPOCH_BUMPED,
        updated_ms=now_ms,
    )


def _left_empty(known: Transaction, next_id: int, now_ms: int) -> Transaction:
    """Aborted before anything was registered: there is nobody to tell, only what is still under way to be shut out."""
    return replace(
        known,
        producer_id=known.producer_id if next_id == NO_PRODUCER else next_id,
        producer_epoch=known.producer_epoch + 1 if next_id == NO_PRODUCER else 0,
        previous_producer_id=known.producer_id,
        state=State.COMPLETE_ABORT,
        start_ms=now_ms,
        client_version=EPOCH_BUMPED,
        updated_ms=now_ms,
    )


def _answer(transaction: Transaction) -> Ended:
    return Ended(ErrorCode.NONE, *transaction.answer)


def _refuse(error: ErrorCode) -> Ending:
    return Decision((), Ended(error))

"""A transaction's course as decisions: partitions join it, it is committed or aborted, its markers are written, it took too long."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from millstream_cluster.decision import Decision
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.producers import fenced
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import EPOCH_KEPT, NO_PRODUCER, Transaction, TransactionState
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

State = TransactionState
Judged = Decision[TransactionRecord, ErrorCode]

PREPARED = {True: State.PREPARE_COMMIT, False: State.PREPARE_ABORT}
_COMPLETED = {True: State.COMPLETE_COMMIT, False: State.COMPLETE_ABORT}
_AFTER = {State.PREPARE_COMMIT: State.COMPLETE_COMMIT, State.PREPARE_ABORT: State.COMPLETE_ABORT}


@dataclass(frozen=True, slots=True)
class Producer:
    """Who says to be the transactional id's producer."""

    transactional_id: str
    producer_id: int
    epoch: int


def add_partitions(
    shard: TransactionShard,
    producer: Producer,
    partitions: Iterable[TopicPartition],
    now_ms: int,
    *,
    client_version: int = EPOCH_KEPT,
) -> Judged:
    """Have the transaction extend to these partitions too; the first ones begin it."""
    known = _of(shard, producer)
    if isinstance(known, ErrorCode):
        return Decision((), known)
    if known.state.is_prepared:
        return Decision((), ErrorCode.CONCURRENT_TRANSACTIONS)
    is_ongoing = known.state is State.ONGOING
    wanted = known.partitions | frozenset(partitions)
    if is_ongoing and wanted == known.partitions:
        return Decision((), ErrorCode.NONE)
    transaction = replace(
        known,
        state=State.ONGOING,
        partitions=wanted,
        start_ms=known.start_ms if is_ongoing else now_ms,
        previous_producer_id=NO_PRODUCER,
        client_version=client_version,
        updated_ms=now_ms,
    )
    return Decision((TransactionStored(transaction),), ErrorCode.NONE)


def verify_partitions(
    shard: TransactionShard, producer: Producer, partitions: Iterable[TopicPartition]
) -> Mapping[TopicPartition, ErrorCode] | ErrorCode:
    """Whether each partition is part of the transaction under way; an error for all, or one for each."""
    known = _of(shard, producer)
    if isinstance(known, ErrorCode):
        return known
    if known.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return {
        partition: ErrorCode.NONE if partition in known.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def end_transaction(shard: TransactionShard, producer: Producer, now_ms: int, *, commit: bool) -> Judged:
    """Decide how the transaction ends; from then on it ends that way whatever happens. Its producer keeps its epoch."""
    known = _of(shard, producer)
    if isinstance(known, ErrorCode):
        return Decision((), known)
    if known.state is State.ONGOING:
        prepared = replace(known, state=PREPARED[commit], client_version=EPOCH_KEPT, updated_ms=now_ms)
        return Decision((TransactionStored(prepared),), ErrorCode.NONE)
    if known.state is _COMPLETED[commit]:
        return Decision((), ErrorCode.NONE)  # asked again: the answer got lost
    if known.state is PREPARED[commit]:
        return Decision((), ErrorCode.CONCURRENT_TRANSACTIONS)
    return Decision((), ErrorCode.INVALID_TXN_STATE)


def abort_overdue(shard: TransactionShard, transactional_id: str, now_ms: int) -> Decision[TransactionRecord, bool]:
    """Abort the transaction if it has taken longer than its producer asked for; the producer is fenced by that."""
    known = shard.transactions.get(transactional_id)
    if known is None or not known.is_overdue(now_ms):
        return Decision((), False)
    return Decision((TransactionStored(fenced(known, now_ms)),), True)


def complete(shard: TransactionShard, prepared: Transaction, now_ms: int) -> Decision[TransactionRecord, bool]:
    """The markers of `prepared` are in every partition."""
    known = shard.transactions.get(prepared.transactional_id)
    if known != prepared:
        return Decision((), False)
    producer_id, producer_epoch = known.answer
    completed = replace(
        known,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        next_producer_id=NO_PRODUCER,
        state=_AFTER[known.state],
        partitions=frozenset(),
        updated_ms=now_ms,
    )
    return Decision((TransactionStored(completed),), True)


def _of(shard: TransactionShard, producer: Producer) -> Transaction | ErrorCode:
    """The producer's transactional id, if the producer is who it says and the latest of its kind."""
    if not producer.transactional_id:
        return ErrorCode.INVALID_REQUEST
    known = shard.transactions.get(producer.transactional_id)
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.next_producer_id != NO_PRODUCER and (producer.producer_id, producer.epoch) == known.answer:
        return known  # it was given this id already, and has to wait for the markers as under any other
    if known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return known if known.producer_epoch == producer.epoch else ErrorCode.PRODUCER_FENCED

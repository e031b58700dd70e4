"""The transactions of one shard in service: has commands decided, then sees each decided transaction through to its end.

A transaction whose end is decided has one task that writes its markers; a new owner of the shard begins with those it finds.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from millstream_cluster.decision import Decision
from millstream_cluster.ids import TRANSACTIONS_TOPIC
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.transactions.bumping_end import Ended
from millstream_coordinator.core.transactions.courses import abort_overdue, complete
from millstream_coordinator.core.transactions.expiry import forget_unused
from millstream_coordinator.core.transactions.limits import TransactionLimits
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.producers import Initialized
from millstream_coordinator.core.transactions.record_format import decode_transaction_record, encode_transaction_record
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import Transaction
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.shards.journal import Codec
from millstream_coordinator.shell.shards.owned import ShardKind
from millstream_coordinator.shell.transactions.markers import Markers
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

T = TypeVar("T")
RETRY_S = 1.0

ReplicatedTransactions = Replicated[TransactionShard, TransactionRecord]


class Transactions:
    """Invariant: a transaction whose end is decided has a task here that ends it."""

    def __init__(
        self,
        replicated: ReplicatedTransactions,
        markers: Markers,
        clock: SteadyClock,
        limits: TransactionLimits,
        tasks: asyncio.TaskGroup,
        barrier: ShardClaimed,
    ) -> None:
        self.shard = replicated.machine
        self.limits = limits
        self._replicated = replicated
        self._markers = markers
        self._clock = clock
        self._tasks = tasks
        self._barrier = barrier
        self._term: int | None = None
        self._endings: dict[str, asyncio.Task[None]] = {}
        self._watches = [
            tasks.create_task(self._abort_overdue_for_ever()),
            tasks.create_task(self._forget_unused_for_ever()),
        ]
        for transaction in self.shard.transactions.values():
            if transaction.state.is_prepared:
                self._end(transaction)

    async def execute(self, decide: Callable[[TransactionShard, int], Decision[TransactionRecord, T]]) -> T:
        """Decide, and return the reply once it is committed; NotCommitted if this shard is not ours any more.

        A refusal for good ends a producer, so it is told only once it is certain that nobody else owned the shard by then: a
        shard that was moved away is still served here until the metadata says so.
        """

        def deciding(shard: TransactionShard, now_ms: int) -> Decision[TransactionRecord, T]:
            decision = decide(shard, now_ms)
            if not decision.records and _refuses_for_good(decision.reply):
                return Decision((self._barrier,), decision.reply)
            for record in decision.records:
                # Even if nobody waits for the reply any more: what is decided has to be carried out.
                if isinstance(record, TransactionStored) and record.transaction.state.is_prepared:
                    self._end(record.transaction)
            return decision

        return await self._replicated.execute(deciding)

    async def read(self, look: Callable[[TransactionShard], T]) -> T:
        """Look at the shard, and return what was seen once it is certain that nobody else owned it by then."""
        return await self._replicated.execute(lambda shard, _: Decision((self._barrier,), look(shard)))

    async def confirm(self) -> None:
        """Return once it is certain that nobody else owned this shard when this was called; else NotCommitted."""
        await self._replicated.confirm()

    def close(self, reason: str) -> None:
        """The shard is not ours any more: its new owner ends what is left."""
        for watch in self._watches:
            watch.cancel()
        for task in list(self._endings.values()):
            task.cancel()

    def _end(self, prepared: Transaction) -> None:
        task = self._tasks.create_task(self._write_end(prepared))
        self._endings[prepared.transactional_id] = task
        task.add_done_callback(lambda done: self._ended(prepared.transactional_id, done))

    def _ended(self, transactional_id: str, done: "asyncio.Task[None]") -> None:
        if self._endings.get(transactional_id) is done:
            del self._endings[transactional_id]

    async def _write_end(self, prepared: Transaction) -> None:
        """The decision first, then the markers, then the note that they are written."""
        while True:
            try:
                # Once this is committed, so is what was decided.
                coordinator_epoch = await self._replicated.execute(self._begin_term)
                await self._markers.write(prepared, coordinator_epoch)
                await self._replicated.execute(lambda shard, now_ms: complete(shard, prepared, now_ms))
            except NotCommitted:
                if self._replicated.failure is not None:
                    return  # the shard is being dropped; its next owner finds the transaction as we do
                await asyncio.sleep(RETRY_S)
                continue
            logger.debug(
                "transaction ended transactional_id=%s producer_id=%d epoch=%d state=%s",
                prepared.transactional_id,
                prepared.producer_id,
                prepared.producer_epoch,
                prepared.state.text,
            )
            return

    def _begin_term(self, shard: TransactionShard, _: int) -> Decision[TransactionRecord, int]:
        """The epoch that our markers carry, written down before the first of them is."""
        if self._term is not None:
            return Decision((), self._term)
        term = shard.next_term(self._barrier.producer_epoch)
        self._term = term.coordinator_epoch
        return Decision((term,), term.coordinator_epoch)

    async def _abort_overdue_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.limits.timeout_check_interval_ms / 1000)
            now_ms = self._clock.now_ms()
            overdue = [each.transactional_id for each in self.shard.transactions.values() if each.is_overdue(now_ms)]
            for transactional_id in overdue:
                try:
                    if await self.execute(_abort_of(transactional_id)):
                        logger.info("transaction took too long transactional_id=%s", transactional_id)
                except NotCommitted:
                    break  # again later, or never: the shard may be another's now

    async def _forget_unused_for_ever(self) -> None:
        expiration_ms = self.limits.id_expiration_ms
        if expiration_ms is None:
            return
        while True:
            await asyncio.sleep(self.limits.id_expiration_check_interval_ms / 1000)
            try:
                while (
                    await self.execute(
                        lambda shard, now_ms: forget_unused(shard, expiration_ms=expiration_ms, now_ms=now_ms)
                    )
                ).more:
                    pass
            except NotCommitted:
                continue  # again later, or never: the shard may be another's now


def _refuses_for_good(reply: object) -> bool:
    error = reply.error if isinstance(reply, Initialized | Ended) else reply
    return isinstance(error, ErrorCode) and error is not ErrorCode.NONE and not error.retriable


def _abort_of(transactional_id: str) -> Callable[[TransactionShard, int], Decision[TransactionRecord, bool]]:
    return lambda shard, now_ms: abort_overdue(shard, transactional_id, now_ms)


def transaction_shards(
    limits: TransactionLimits, clock: SteadyClock, markers: Markers
) -> ShardKind[TransactionShard, Transactions]:
    """The shards that the partitions of `__transaction_state` are."""

    def serve(replicated: ReplicatedTransactions, tasks: asyncio.TaskGroup, barrier: ShardClaimed) -> Transactions:
        return Transactions(replicated, markers, clock, limits, tasks, barrier)

    return ShardKind(
        topic=TRANSACTIONS_TOPIC,
        codec=Codec(encode_transaction_record, decode_transaction_record),
        new_machine=TransactionShard,
        serve=serve,
    )

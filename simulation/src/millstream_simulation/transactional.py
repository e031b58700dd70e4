"""A transactional producer of the simulation: each step is asked for until its outcome is known, or it is not the producer any more."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_simulation.client import TRANSACTION_KEY, KafkaClient, NotNow
from millstream_simulation.consumer import Identity
from millstream_simulation.in_flight import IN_FLIGHT_MAX, produce_in_order
from millstream_simulation.story import Story, Violation
from millstream_simulation.transaction_ledger import Attempt, TransactionLedger
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic
from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from millstream_wire.records import Record, encode_batch

PAUSE_S = 0.1
BATCH_MAX = 2
INIT_VERSION = 4
ADD_VERSION = 3

_FENCED = frozenset(
    {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)
_FAULTS = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
_MEMBER_LOST = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})


class Fenced(Exception):
    """Somebody else is the producer now, or the transaction took too long."""


class Abortable(Exception):
    """This transaction cannot be committed."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The versions by which requests of one flow of transactions go out."""

    produce: int
    offset_commit: int
    end: int
    asks_first: bool
    """Whether partitions and groups are added before they are written to."""


VERSION_1 = Flow(produce=11, offset_commit=4, end=4, asks_first=True)
VERSION_2 = Flow(produce=12, offset_commit=5, end=5, asks_first=False)
"""Whoever is written to registers with the transaction's coordinator; each end gives the producer another epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """What a transaction commits of its source."""

    member: Identity
    topic: str
    partition: int
    offset: int


class TransactionalProducer:
    """`groups`: a client for the group's coordinator."""

    def __init__(
        self,
        transactional_id: str,
        flow: Flow,
        client: KafkaClient,
        groups: KafkaClient,
        ledger: TransactionLedger,
        story: Story,
        *,
        timeout_ms: int,
    ) -> None:
        self.stall_s = 0.0
        """Set by whoever makes trouble: so long it does nothing in the middle of its next transaction."""
        self.stalls_late = False
        """Then it is all but done: only the end has not been asked for yet."""
        self._id = transactional_id
        self._flow = flow
        self._client = client
        self._groups = groups
        self._ledger = ledger
        self._story = story
        self._timeout_ms = timeout_ms
        self._producer_id = -1
        self._epoch = -1
        self._sequences: dict[int, int] = {}

    async def close(self) -> None:
        await self._client.close()

    async def init(self) -> None:
        """Become the producer of the transactional id; whoever was it is fenced."""
        request = InitProducerIdRequest(transactional_id=self._id, transaction_timeout_ms=self._timeout_ms)
        answer = await self._coordinated(request, lambda answer: answer.error_code, version=INIT_VERSION)
        self._become(answer.producer_id, answer.producer_epoch)
        self._story.add("producer", transactional_id=self._id, producer_id=self._producer_id, epoch=self._epoch)

    async def transact(
        self, attempt: Attempt, results: Mapping[int, Sequence[bytes]], offset: Offset, *, commit: bool
    ) -> None:
        """One transaction to its end, that may be an abort: Abortable; or Fenced, and who knows how it ends."""
        try:
            if self._flow.asks_first:
                await self._add_partitions(sorted(results))
            for partition, values in sorted(results.items()):
                await self._write(attempt, partition, values)
            if not self.stalls_late:
                await self._stall()
            await self._commit_offset(offset)
            await self._stall()
        except Abortable:
            await self._end(attempt, commit=False)
            raise
        await self._end(attempt, commit=commit)
        if not commit:
            raise Abortable

    async def _stall(self) -> None:
        stall_s, self.stall_s = self.stall_s, 0.0
        await asyncio.sleep(stall_s)

    def begin(self) -> Attempt:
        return self._ledger.begin(self._id, (self._producer_id, self._epoch))

    def _become(self, producer_id: int, epoch: int) -> None:
        self._producer_id, self._epoch = producer_id, epoch
        self._sequences.clear()
        self._ledger.note_granted(self._id, (producer_id, epoch))

    async def _add_partitions(self, partitions: Sequence[int]) -> None:
        topic = AddPartitionsToTxnTopic(name=self._client.topic, partitions=list(partitions))
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[topic],
        )
        await self._coordinated(request, _error_of_added, version=ADD_VERSION)

    async def _write(self, attempt: Attempt, partition: int, values: Sequence[bytes]) -> None:
        """In small batches, as many of them under way at once as clients have."""
        was_replaced = self._ledger.is_replaced(attempt)
        waiting = deque(values[start : start + BATCH_MAX] for start in range(0, len(values), BATCH_MAX))
        while waiting:
            error = await self._send(attempt, partition, waiting, was_replaced=was_replaced)
            if error is not ErrorCode.NONE:
                self._judge(error)
                await asyncio.sleep(PAUSE_S)

    async def _send(
        self, attempt: Attempt, partition: int, waiting: deque[Sequence[bytes]], *, was_replaced: bool
    ) -> ErrorCode:
        """Take off what is written; what is behind the first refusal is sent again with it, whatever became of it."""
        sequence = self._sequences.get(partition, 0)
        batches = []
        for values in list(waiting)[:IN_FLIGHT_MAX]:
            batches.append(self._batch(values, sequence))
            sequence += len(values)
        outcomes = await produce_in_order(
            self._client, partition, batches, transactional_id=self._id, version=self._flow.produce
        )
        now_s = asyncio.get_running_loop().time()
        for error, base in outcomes:
            if error is not ErrorCode.NONE:
                return error
            count = len(waiting.popleft())
            self._sequences[partition] = self._sequences.get(partition, 0) + count
            offsets = range(base, base + count)
            self._ledger.note_written(attempt, partition, offsets, was_replaced=was_replaced, now_s=now_s)
        return ErrorCode.NONE

    def _batch(self, values: Sequence[bytes], sequence: int) -> bytes:
        now_ms = self._client.world.now_ms()
        return encode_batch(
            [Record(offset=0, timestamp=now_ms, key=None, value=value) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=sequence,
            transactional=True,
        )

    async def _commit_offset(self, offset: Offset) -> None:
        member = offset.member
        if self._flow.asks_first:
            await self._add_group(member.group)
        partition = TxnOffsetCommitRequestPartition(partition_index=offset.partition, committed_offset=offset.offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=member.group,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            generation_id_or_member_epoch=member.epoch,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=offset.topic, partitions=[partition])],
        )
        while True:
            try:
                answer = await self._groups.ask_coordinator(member.group, request, version=self._flow.offset_commit)
            except NotNow:
                await asyncio.sleep(PAUSE_S)
                continue
            error = ErrorCode(answer.topics[0].partitions[0].error_code)
            if error is ErrorCode.NONE:
                return
            if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                self._groups.forget_coordinator()
            self._judge(error)
            await asyncio.sleep(PAUSE_S)

    async def _add_group(self, group: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id, producer_id=self._producer_id, producer_epoch=self._epoch, group_id=group
        )
        await self._coordinated(request, lambda answer: answer.error_code, version=ADD_VERSION)

    async def _end(self, attempt: Attempt, *, commit: bool) -> None:
        self._ledger.note_end_asked(attempt, commit=commit)
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )
        answer = await self._coordinated(request, lambda answer: answer.error_code, version=self._flow.end)
        self._ledger.note_ended(attempt)
        if not self._flow.asks_first:
            self._become(answer.producer_id, answer.producer_epoch)
        self._story.note("transaction committed" if commit else "transaction aborted")
        self._story.add("ended", transactional_id=self._id, transaction=attempt.number, commit=commit)

    async def _coordinated(self, request: Any, error_of: Callable[[Any], int], *, version: int) -> Any:
        """Ask the transaction's coordinator until it says yes."""
        while True:
            try:
                answer = await self._client.ask_coordinator(
                    self._id, request, key_type=TRANSACTION_KEY, version=version
                )
            except NotNow:
                await asyncio.sleep(PAUSE_S)
                continue
            error = ErrorCode(error_of(answer))
            if error is ErrorCode.NONE:
                return answer
            if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                self._client.forget_coordinator(TRANSACTION_KEY)
            try:
                self._judge(error)
            except Abortable:
                if not isinstance(request, EndTxnRequest):
                    raise
                if self._flow.asks_first or not request.committed:
                    raise Violation(f"{self._id} asked to end its transaction and was told {error.name}") from None
                raise Fenced(error.name) from None  # it took too long: version 2 says so in this way
            await asyncio.sleep(PAUSE_S)

    def _judge(self, error: ErrorCode) -> None:
        """Return if the same may be asked again."""
        if error in _FENCED:
            self._story.note("producer fenced")
            raise Fenced(error.name)
        if error in _FAULTS:
            raise Violation(f"{self._id} was told {error.name}")
        if error in _MEMBER_LOST or error in (ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE):
            raise Abortable(error.name)


def _error_of_added(answer: Any) -> int:
    errors = [
        each.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    ]
    return next((error for error in errors if error), 0)

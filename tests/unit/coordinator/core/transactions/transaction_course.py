"""A shard of transactions in service and the bytes of its log, for tests that have commands decided one after the other."""

from typing import Any

from millstream_coordinator.core.transactions.bumping_end import Ended, end_and_bump
from millstream_coordinator.core.transactions.courses import Producer, add_partitions, complete, end_transaction
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.producers import Initialized, InitRequest, init_producer
from millstream_coordinator.core.transactions.record_format import decode_transaction_record, encode_transaction_record
from millstream_coordinator.core.transactions.transaction import EPOCH_BUMPED, EPOCH_KEPT, TransactionState
from millstream_wire.errors import ErrorCode

State = TransactionState
TIMEOUT_MAX_MS = 900_000
PARTITIONS = [("t", 0), ("t", 1), ("__consumer_offsets", 7)]


class Live:
    """A shard in service, the bytes of its log beside it."""

    def __init__(self) -> None:
        self.shard = TransactionShard()
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now_ms = 1_000
        self.next_id = 100

    def do(self, decision: Any) -> Any:
        for record in decision.records:
            self.shard.apply(record)
            self.log.append(encode_transaction_record(record))
        self.shard.check()
        return decision.reply

    def init(
        self, transactional_id: str = "x", *, timeout_ms: int = 60_000, was: tuple[int, int] = (-1, -1)
    ) -> Initialized:
        request = InitRequest(
            transactional_id=transactional_id, timeout_ms=timeout_ms, producer_id=was[0], producer_epoch=was[1]
        )
        unused = None
        while True:
            reply = self.do(init_producer(self.shard, request, unused, self.now_ms, timeout_max_ms=TIMEOUT_MAX_MS))
            if not reply.wants_id:
                return reply
            self.next_id += 1
            unused = self.next_id

    def add(self, producer: Producer, *partitions: tuple[str, int], bumping: bool = False) -> ErrorCode:
        version = EPOCH_BUMPED if bumping else EPOCH_KEPT
        return self.do(add_partitions(self.shard, producer, partitions, self.now_ms, client_version=version))

    def end(self, producer: Producer, *, commit: bool) -> ErrorCode:
        return self.do(end_transaction(self.shard, producer, self.now_ms, commit=commit))

    def end_and_bump(self, producer: Producer, *, commit: bool) -> Ended:
        unused = None
        while True:
            reply = self.do(end_and_bump(self.shard, producer, unused, self.now_ms, commit=commit))
            if not reply.wants_id:
                return reply
            self.next_id += 1
            unused = self.next_id

    def complete(self, transactional_id: str = "x") -> bool:
        return self.do(complete(self.shard, self.shard.transactions[transactional_id], self.now_ms))

    def state(self, transactional_id: str = "x") -> State:
        return self.shard.transactions[transactional_id].state

    def replayed(self) -> TransactionShard:
        shard = TransactionShard()
        for key, value in self.log:
            record = decode_transaction_record(key, value)
            assert record is not None
            shard.apply(record)
        return shard


def started(live: Live, transactional_id: str = "x") -> Producer:
    given = live.init(transactional_id)
    assert given.error is ErrorCode.NONE
    return Producer(transactional_id, given.producer_id, given.producer_epoch)

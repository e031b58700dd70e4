"""Transactions with a safeguard taken out: some seed must notice."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from millstream_broker import app
from millstream_broker.core.appends.refused_batches import RefusedBatches
from millstream_broker.shell.transactions.verification import Verification
from millstream_coordinator.api import offset_fetch, txn_offset_commit, write_txn_markers
from millstream_coordinator.core.commands import transactional_offsets as group_offsets
from millstream_coordinator.core.group_shard.record_format import decode_record
from millstream_coordinator.core.transactions import courses, producers
from millstream_coordinator.core.transactions.pending_records import OffsetPending
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_coordinator.shell.groups import groups
from millstream_coordinator.shell.transactions.markers import Markers
from millstream_coordinator.shell.transactions.nodes import TransactionNodes
from millstream_log.producer_state import ProducerState
from millstream_simulation.shape import Kind
from millstream_wire.errors import ErrorCode

Hunt = Callable[..., str]
UseProducers = Callable[[type[ProducerState]], None]


def test_markers_to_all_partitions_but_one(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = Markers.write

    async def careless(self: Markers, prepared: Transaction, coordinator_epoch: int) -> None:
        some = frozenset(sorted(prepared.partitions)[1:])
        await honest(self, replace(prepared, partitions=some), coordinator_epoch)

    monkeypatch.setattr(Markers, "write", careless)
    assert hunt(Kind.TRANSACTIONS) != ""


def test_transactions_that_are_complete_before_their_markers_are_written(
    monkeypatch: pytest.MonkeyPatch, hunt: Hunt
) -> None:
    async def once(self: Markers, prepared: Transaction, coordinator_epoch: int) -> None:
        left = set(prepared.partitions)
        for node_id, partitions in self._by_taker(left).items():
            await self._send(prepared, coordinator_epoch, node_id, partitions, left)

    monkeypatch.setattr(Markers, "write", once)
    assert hunt(Kind.TRANSACTIONS, 4) != ""


class Oblivious(ProducerState):
    @property
    def first_unstable_offset(self) -> int | None:
        return None


def test_a_stable_offset_that_ignores_what_is_under_way(use_producers: UseProducers, hunt: Hunt) -> None:
    use_producers(Oblivious)
    found = hunt(Kind.TRANSACTIONS)
    assert "nobody committed it" in found or "under way" in found, found


def test_an_abort_that_is_written_as_a_commit(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = TransactionNodes.write_marker

    async def generous(self: TransactionNodes, marker: Any, *rest: Any) -> Any:
        marker.transaction_result = True
        return await honest(self, marker, *rest)

    monkeypatch.setattr(TransactionNodes, "write_marker", generous)
    assert "nobody committed it" in hunt(Kind.TRANSACTIONS)


def test_a_time_out_that_leaves_the_producer_its_epoch(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def lenient(transaction: Transaction, now_ms: int) -> Transaction:
        return replace(transaction, state=TransactionState.PREPARE_ABORT, updated_ms=now_ms)

    monkeypatch.setattr(courses, "fenced", lenient)
    assert hunt(Kind.TRANSACTIONS, 4) != ""


def test_a_newer_producer_with_the_epoch_of_the_older(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = producers._given

    def stingy(transaction: Transaction) -> Any:
        return honest(replace(transaction, producer_epoch=max(0, transaction.producer_epoch - 1)))

    monkeypatch.setattr(producers, "_given", stingy)
    assert hunt(Kind.TRANSACTIONS) != ""


def test_pending_offsets_that_a_new_owner_does_not_read(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def forgetful(key: bytes | None, value: bytes | None) -> Any:
        record = decode_record(key, value)
        return None if isinstance(record, OffsetPending) else record

    monkeypatch.setattr(groups, "decode_record", forgetful)
    assert hunt(Kind.TRANSACTIONS, 10) != ""


def test_offsets_that_are_dropped_when_their_transaction_commits(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = group_offsets.end_in_group

    def dropping(shard: Any, marker: Any, now_ms: int) -> Any:
        return honest(shard, replace(marker, committed=False), now_ms)

    monkeypatch.setattr(write_txn_markers, "end_in_group", dropping)
    assert hunt(Kind.TRANSACTIONS) != ""


def test_reading_on_from_an_offset_that_may_still_change(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = offset_fetch._look

    def rash(*asked: Any, stable: bool) -> Any:
        return honest(*asked, stable=False)

    monkeypatch.setattr(offset_fetch, "_look", rash)
    assert "visible twice" in hunt(Kind.GROUP_TRANSACTIONS, 13)


def test_partitions_taken_without_asking_the_coordinator(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    async def trusting(self: Verification, *asked: Any) -> Any:
        return dict.fromkeys(asked[-1], ErrorCode.NONE)

    monkeypatch.setattr(Verification, "verify", trusting)
    monkeypatch.setattr(Verification, "add", trusting)
    assert hunt(Kind.TRANSACTIONS) != ""


def test_offsets_taken_without_asking_the_coordinator(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    async def trusting(*asked: Any) -> ErrorCode:
        return ErrorCode.NONE

    monkeypatch.setattr(txn_offset_commit, "_verify", trusting)
    assert hunt(Kind.TRANSACTIONS) != ""


def test_what_is_behind_a_refused_batch_taken_for_the_first_one(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = app.Broker

    def forgetful(*parts: Any, **named: Any) -> Any:
        broker = honest(*parts, **named)
        broker.refused_batches = RefusedBatches(remembered=0)
        return broker

    monkeypatch.setattr(app, "Broker", forgetful)
    assert "OUT_OF_ORDER_SEQUENCE_NUMBER" in hunt(Kind.TRANSACTIONS, 24)

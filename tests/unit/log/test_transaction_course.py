"""Any course of producers, their transactions, cuts, crashes and reopenings: a model that reads the log from its beginning says
what a partition knows of its producers, and what readers of committed records are to leave out.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millstream_log import (
    AbortedTransaction,
    InvalidProducerEpoch,
    Log,
    LogConfig,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from millstream_log.errors import InvalidTransactionState
from millstream_wire.records import EndMarker, Record, check, encode_batch

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=60)
PRODUCERS = st.integers(1, 3)


@dataclass(frozen=True)
class Batch:
    offset: int
    count: int
    producer_id: int
    epoch: int
    last_sequence: int = -1
    transactional: bool = False
    marker: EndMarker | None = None


@dataclass
class Producer:
    epoch: int
    last_sequence: int = -1
    transaction_start: int = -1
    coordinator_epoch: int = -1


def fold(batches: list[Batch]) -> tuple[dict[int, Producer], list[AbortedTransaction]]:
    """What a partition must know after these."""
    producers: dict[int, Producer] = {}
    aborted: list[AbortedTransaction] = []
    for batch in batches:
        known = producers.setdefault(batch.producer_id, Producer(batch.epoch))
        if known.epoch != batch.epoch:
            known.epoch, known.last_sequence = batch.epoch, -1
        if batch.marker is None:
            known.last_sequence = batch.last_sequence
            if batch.transactional and known.transaction_start < 0:
                known.transaction_start = batch.offset
            continue
        start, known.transaction_start = known.transaction_start, -1
        known.coordinator_epoch = batch.marker.coordinator_epoch
        if start >= 0 and not batch.marker.committed:
            stable = min(
                (each.transaction_start for each in producers.values() if each.transaction_start >= 0), default=None
            )
            end = batch.offset + 1 if stable is None else stable
            aborted.append(AbortedTransaction(batch.producer_id, start, batch.offset, end))
    return producers, aborted


class TransactionCourse(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.log = Log.open(self.directory, CONFIG, now_ms=0)
        self.batches: list[Batch] = []

    def teardown(self) -> None:
        self.log.abandon()
        shutil.rmtree(self.directory)

    @property
    def end(self) -> int:
        return self.batches[-1].offset + self.batches[-1].count if self.batches else 0

    @rule(
        producer_id=PRODUCERS,
        epoch=st.integers(0, 3),
        count=st.integers(1, 3),
        transactional=st.booleans(),
        skipped=st.sampled_from([0, 0, 0, 1]),
    )
    def write(self, producer_id: int, epoch: int, count: int, transactional: bool, skipped: int) -> None:
        known = fold(self.batches)[0].get(producer_id)
        same = known is not None and known.epoch == epoch
        first = (known.last_sequence + 1 if known is not None and same else 0) + skipped
        refusal: Any = None
        if known is not None and epoch < known.epoch:
            refusal = InvalidProducerEpoch
        elif known is not None and known.transaction_start >= 0 and not transactional:
            refusal = InvalidTransactionState
        elif known is not None and skipped:
            refusal = OutOfOrderSequence
        batch = bytearray(
            encode_batch(
                [Record(-1, 1_000, b"k", bytes(20))] * count,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=first,
                transactional=transactional,
            )
        )
        self._append(
            self.log.append,
            batch,
            refusal,
            Batch(self.end, count, producer_id, epoch, first + count - 1, transactional),
        )

    @rule(producer_id=PRODUCERS, epoch=st.integers(0, 3), term=st.integers(0, 2), committed=st.booleans())
    def end_transaction(self, producer_id: int, epoch: int, term: int, committed: bool) -> None:
        known = fold(self.batches)[0].get(producer_id)
        refusal: Any = None
        if known is not None and epoch < known.epoch:
            refusal = InvalidProducerEpoch
        elif known is not None and term < known.coordinator_epoch:
            refusal = TransactionCoordinatorFenced
        marker = EndMarker(committed, term)
        batch = bytearray(
            encode_batch(
                [marker.encode(0)], producer_id=producer_id, producer_epoch=epoch, transactional=True, control=True
            )
        )
        self._append(self.log.append_control, batch, refusal, Batch(self.end, 1, producer_id, epoch, marker=marker))

    @rule()
    def roll(self) -> None:
        self.log.roll(0)

    @rule()
    def flush(self) -> None:
        self.log.flush()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from([each.offset for each in self.batches] or [0]))
        self.log.truncate_to(offset, now_ms=0)
        self.batches = [each for each in self.batches if each.offset < offset]

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        recovery_point = self.log.recovery_point
        if clean:
            self.log.close()
        else:
            self.log.abandon()
        self.log = Log.open(self.directory, CONFIG, now_ms=0, clean=clean, recovery_point=recovery_point)

    @invariant()
    def the_partition_knows_what_the_log_says(self) -> None:
        self.log.check()
        producers, aborted = fold(self.batches)
        for producer_id in range(1, 4):
            entry = self.log.producer(producer_id)
            found = entry and Producer(
                entry.epoch, entry.last_sequence, entry.transaction_start, entry.coordinator_epoch
            )
            assert found == producers.get(producer_id)
        starts = [each.transaction_start for each in producers.values() if each.transaction_start >= 0]
        assert self.log.first_unstable_offset == min(starts, default=None)
        assert self.log.aborted_transactions(0, self.end) == aborted

    def _append(self, append: Any, batch: bytearray, refusal: Any, expected: Batch) -> None:
        if refusal is not None:
            with pytest.raises(refusal):
                append(batch, check(batch), leader_epoch=0, now_ms=0)
            return
        result = append(batch, check(batch), leader_epoch=0, now_ms=0)
        assert (result.base_offset, result.is_duplicate) == (expected.offset, False)
        self.batches.append(expected)


TransactionCourse.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestTransactionCourse = TransactionCourse.TestCase

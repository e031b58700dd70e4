"""Bugs that the log once had, put back one by one: the course of a log by itself that finds each of them.

Compiled classes cannot be patched. So a mutant stands between a log and whoever opened it, or changes what is never compiled.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from millstream_log import (
    AbortedTransaction,
    DataDir,
    Flush,
    Log,
    TopicPartition,
    data_dir,
    producer_snapshot,
    recovery,
    writing,
)
from millstream_log import log as log_module
from millstream_log.cutting import Truncation
from millstream_log.leader_epochs import LeaderEpochs
from millstream_log.producer_state import ProducerState
from millstream_log.segment import Segment
from millstream_log.truncation_mark import TruncationMark
from millstream_simulation.log_alone.draw import Trouble
from millstream_simulation.log_alone.judged import judged
from millstream_wire.records import BatchHeader, EndMarker

Patch = pytest.MonkeyPatch


def violation(seed: int) -> str:
    return judged(seed, without=frozenset({Trouble.FULL_DISK})).violation or ""


class OpenedLog:
    """What a log shows to whoever opened it: itself, but for what mutants change."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.state = log._flushes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)


def open_as(mutant: type[OpenedLog], monkeypatch: Patch) -> None:
    class Opening:
        @staticmethod
        def open(directory: Path, *config: Any, **settings: Any) -> OpenedLog:
            return mutant(Log.open(directory, *config, **settings))

    monkeypatch.setattr(data_dir, "Log", Opening)


# ---- an append that flushes before its producer is known: the snapshot of that flush lacks the batch ----


class Late(ProducerState):
    """Hears of a batch when the flush that came with it is done."""

    of: ClassVar[Log]

    def update(self, header: BatchHeader, base_offset: int, *, timestamp: int, now_ms: int) -> None:
        self._let_flush()
        super().update(header, base_offset, timestamp=timestamp, now_ms=now_ms)

    def end_transaction(self, header: BatchHeader, marker: EndMarker, *, now_ms: int) -> AbortedTransaction | None:
        self._let_flush()
        return super().end_transaction(header, marker, now_ms=now_ms)

    def _let_flush(self) -> None:
        log = getattr(Late, "of", None)
        if log is not None and log._producers is self:
            log._flush_if_due()


class OfLateProducers(OpenedLog):
    def __init__(self, log: Log) -> None:
        super().__init__(log)
        Late.of = log


def store_snapshots_without_the_newest_batch(monkeypatch: Patch) -> None:
    for module in (recovery, producer_snapshot):
        monkeypatch.setattr(module, "ProducerState", Late)
    open_as(OfLateProducers, monkeypatch)


# ---- a flush beside one that failed: the kernel has told of the loss already, and this one ends well ----


class Unwarned:
    def __init__(self, flush: Flush, log: OpenedLog) -> None:
        self.flush = flush
        self._log = log

    def perform(self) -> None:
        self._log.unwarned(self.flush.perform)


class OfUnwarnedFlushes(OpenedLog):
    def start_flush(self) -> Unwarned:
        return Unwarned(self.log.start_flush(), self)

    def finish_flush(self, flush: Unwarned) -> None:
        self.unwarned(lambda: self.log.finish_flush(flush.flush))

    def unwarned(self, act: Callable[[], None]) -> None:
        """Whatever came before, begin as if all were well."""
        failure, self.state.failure = self.state.failure, None
        try:
            act()
        finally:
            self.state.failure = self.state.failure or failure


def let_flushes_end_beside_a_failed_one(monkeypatch: Patch) -> None:
    open_as(OfUnwarnedFlushes, monkeypatch)


# ---- a segment that is rolled while a flush is under way: nobody flushes its name ----


class OfForgottenNames(OpenedLog):
    def finish_flush(self, flush: Flush) -> None:
        self.log.finish_flush(flush)
        if flush._directory is not None:
            self.state.names_flushed = self.state.names_made


def take_names_made_during_a_flush_for_flushed(monkeypatch: Patch) -> None:
    open_as(OfForgottenNames, monkeypatch)


# ---- gaps that a compacted leader sent: recovery takes them for losses ----


def trust_no_gap_but_of_this_disks_cleaner(monkeypatch: Patch) -> None:
    def never(directory: Path) -> bool:
        return False

    monkeypatch.setattr(log_module, "has_gaps", never)


# ---- a truncation that copies what it keeps, and flushes none of it ----


def copy_what_a_cut_keeps_without_a_flush(monkeypatch: Patch) -> None:
    honest = Truncation._perform

    def copying(self: Truncation) -> None:
        honest(self)
        if self._kept is None:
            return
        disk, path = self._disk, self._kept.log_path
        copy = path.with_name(path.name + ".copy")
        fd = disk.open(copy, os.O_RDWR | os.O_CREAT)
        disk.write(fd, path.read_bytes(), 0)
        disk.close(fd)
        disk.rename(copy, path)
        disk.sync_directory(path.parent)
        self._kept.close()

    monkeypatch.setattr(Truncation, "_perform", copying)


# ---- a truncation that leaves the cleaner's checkpoint where it was ----


def take_what_was_rewritten_for_clean(monkeypatch: Patch) -> None:
    honest = DataDir._lower

    def careless(self: DataDir, key: TopicPartition, mark: TruncationMark | None) -> None:
        cleaned = self._cleaned.get(key)
        honest(self, key, mark)
        if cleaned is not None:
            self._cleaned[key] = cleaned

    monkeypatch.setattr(DataDir, "_lower", careless)


# ---- a start that a kill takes back: the epochs stay those of what was left ----


def believe_that_epochs_begin_where_their_file_does(monkeypatch: Patch) -> None:
    honest = recovery._begin_epochs

    def credulous(epochs: LeaderEpochs, segments: list[Segment], start_offset: int) -> None:
        if not epochs.entries:
            honest(epochs, segments, start_offset)

    monkeypatch.setattr(recovery, "_begin_epochs", credulous)


SEEDS: dict[Callable[[Patch], None], int] = {
    store_snapshots_without_the_newest_batch: 11,
    let_flushes_end_beside_a_failed_one: 2,
    take_names_made_during_a_flush_for_flushed: 1652,
    trust_no_gap_but_of_this_disks_cleaner: 52,
    copy_what_a_cut_keeps_without_a_flush: 9,
    take_what_was_rewritten_for_clean: 3898,
    believe_that_epochs_begin_where_their_file_does: 10,
}
"""Of the course that finds it."""


@pytest.fixture(autouse=True)
def snapshots(monkeypatch: Patch) -> None:
    """Courses are short: let each flush store a snapshot of the producers, however little a restart would have to read."""
    monkeypatch.setattr(writing, "REPLAYED_BYTES", 0)


@pytest.mark.parametrize(("put_back", "seed"), SEEDS.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_a_bug_of_old_is_found(put_back: Callable[[Patch], None], seed: int, monkeypatch: Patch) -> None:
    assert violation(seed) == ""
    put_back(monkeypatch)
    assert violation(seed) != ""

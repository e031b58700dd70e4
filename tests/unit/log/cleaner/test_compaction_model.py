"""Compaction against a dictionary: random appends, transactions and cleanings, crashes at every file operation, restarts."""

import errno
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from millstream_log import StorageError
from millstream_wire.records import check, decode_batches

FILE_OPERATIONS = ("rename", "replace", "unlink", "pwrite", "fsync", "open")
KEYS = 12


class Crash(BaseException):
    """The process is gone: nothing catches it."""


@contextmanager
def failing_at(count: int, error: type[BaseException]) -> Iterator[list[int]]:
    """Let the file operation number `count` fail; the list ends up with how many there were."""
    originals = {name: getattr(os, name) for name in FILE_OPERATIONS}
    seen = [0]

    def wrap(original: Callable) -> Callable:
        def operation(*args, **kwargs):
            seen[0] += 1
            if seen[0] == count:
                raise error() if error is Crash else error(errno.EIO, "injected")
            return original(*args, **kwargs)

        return operation

    for name, original in originals.items():
        setattr(os, name, wrap(original))
    try:
        yield seen
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


class Model:
    """What was ever appended, and what has become of it."""

    def __init__(self, log) -> None:
        self.log = log
        self.history: dict[int, tuple[bytes, bytes | None]] = {}
        self.aborted: set[int] = set()
        self.open: dict[int, list[int]] = {}

    def append(self, rng: random.Random) -> None:
        pairs = [
            (b"key %d" % rng.randrange(KEYS), None if rng.random() < 0.2 else rng.randbytes(rng.randrange(60)))
            for _ in range(rng.randint(1, 4))
        ]
        producer_id = rng.choice((-1, -1, 1, 2, 3, 4))
        fields = {"compression": rng.choice((0, 0, 1, 4))}
        if producer_id >= 3:
            fields["transactional"] = True
        first = self.log.append(*pairs, producer_id=producer_id, **fields)
        self.history.update({first + i: pair for i, pair in enumerate(pairs)})
        if producer_id >= 3:
            self.open.setdefault(producer_id, []).extend(range(first, first + len(pairs)))

    def end_transaction(self, rng: random.Random) -> None:
        if self.open:
            producer_id = rng.choice(sorted(self.open))
            committed = rng.random() < 0.5
            self.log.end_transaction(producer_id, committed=committed)
            offsets = self.open.pop(producer_id)
            if not committed:
                self.aborted.update(offsets)

    def run(self, rng: random.Random, steps: int) -> None:
        for _ in range(steps):
            self.log.now_ms += rng.randrange(20)
            action = rng.random()
            if action < 0.6:
                self.append(rng)
            elif action < 0.75:
                self.end_transaction(rng)
            elif action < 0.9:
                self.log.roll()
            elif action < 0.97:
                self.log.clean(keys_bytes_max=rng.choice((600, 1 << 20)))
                self.check()
            else:
                self.restart(clean=rng.random() < 0.5, with_snapshots=rng.random() < 0.5)
                self.check()

    def restart(self, *, clean: bool, with_snapshots: bool = True) -> None:
        def producers():
            return {
                entry.producer_id: (entry.epoch, entry.last_sequence, entry.last_offset, entry.transaction_start)
                for entry in self.log.log.producers
            }

        before, end_offset = producers(), self.log.log.log_end_offset
        if clean:
            self.log.reopen(clean=True)
        else:
            if not with_snapshots:
                for path in self.log.directory.glob("*.snapshot"):
                    path.unlink()
            self.log.reopen()
        assert self.log.log.log_end_offset == end_offset
        assert producers() == before

    def check(self) -> None:
        log = self.log.log
        log.check()
        remaining = {offset: (key, value) for offset, key, value in self.log.records()}
        assert {offset: self.history.get(offset) for offset in remaining} == remaining
        undecided = {offset for offsets in self.open.values() for offset in offsets}
        latest: dict[bytes, int] = {}
        for offset, (key, _) in sorted(self.history.items()):
            if offset not in self.aborted and offset not in undecided:
                latest[key] = offset
        visible = self.visible()
        assert not visible & self.aborted
        for key, offset in latest.items():
            if self.history[offset][1] is not None:
                assert offset in visible, (key, offset)
            elif offset not in visible:  # a tombstone may go, and then nothing older may come back
                assert not [each for each in visible if self.history[each][0] == key and each < offset], key

    def visible(self) -> set[int]:
        """The offsets of what is not known to be aborted, told by the log alone."""
        aborted = self.log.log.aborted_transactions(0, self.log.log.log_end_offset)
        found = set()
        for batch in self.log.batches():
            header = check(batch)
            hidden = header.is_transactional and any(
                each.producer_id == header.producer_id and each.first_offset <= header.base_offset <= each.last_offset
                for each in aborted
            )
            if not header.is_control and not hidden:
                found.update(record.offset for record in decode_batches(batch))
        return found


@pytest.mark.parametrize("seed", range(6))
def test_a_compacted_log_is_a_dictionary_that_remembers_its_offsets(compacted, seed):
    rng = random.Random(seed)
    model = Model(compacted(segment_bytes=rng.choice((400, 2000, 100_000)), delete_retention_ms=rng.choice((0, 100))))
    model.run(rng, 200)
    for producer_id in sorted(model.open):
        model.log.end_transaction(producer_id, committed=True)
        model.open.pop(producer_id)
    model.log.roll()
    for _ in range(3):
        model.log.clean()
        model.log.now_ms += 1000
        model.check()
    kept = [key for _, key, _ in model.log.records()]
    assert len(kept) == len(set(kept)), "after a full cleaning each key is there once"


def dirty(compacted, seed: int) -> Model:
    """A log of many segments, some clean, some dirty, one of them emptied."""
    rng = random.Random(seed)
    model = Model(compacted(segment_bytes=500, delete_retention_ms=0))
    model.run(rng, 60)
    for producer_id in sorted(model.open):
        model.log.end_transaction(producer_id, committed=False)
        model.aborted.update(model.open.pop(producer_id))
    model.log.roll()
    model.log.log.flush()
    model.log.log.config = model.log.config = type(model.log.config)(segment_bytes=1500, index_interval_bytes=150)
    return model


@pytest.mark.parametrize("seed", range(2))
def test_a_crash_at_any_file_operation_loses_nothing(compacted, seed, tmp_path: Path):
    model = dirty(compacted, seed)
    saved = tmp_path / "saved"
    shutil.copytree(model.log.directory, saved)
    first_dirty_offset = model.log.first_dirty_offset
    count = 0
    while True:
        count += 1
        with failing_at(count, Crash) as seen, suppress(Crash):
            model.log.clean()
        was_complete = seen[0] < count
        model.restart(clean=False, with_snapshots=count % 2 == 0)
        model.check()
        assert not [path for path in model.log.directory.iterdir() if path.suffix in (".cleaned", ".swap", ".deleted")]
        if was_complete:
            break
        model.log.first_dirty_offset = first_dirty_offset
        if count % 5 == 0:  # what was cut short can be done again
            model.log.clean()
            model.check()
        model.log.log.abandon()
        shutil.rmtree(model.log.directory)
        shutil.copytree(saved, model.log.directory)
        model.log.first_dirty_offset = first_dirty_offset
        model.log.reopen()
    assert count > 50


def test_a_second_crash_while_the_first_is_repaired_loses_nothing(compacted, tmp_path: Path):
    model = dirty(compacted, 5)
    saved = tmp_path / "saved"
    shutil.copytree(model.log.directory, saved)
    first_dirty_offset = model.log.first_dirty_offset
    with failing_at(-1, Crash) as seen:
        model.log.clean()
    rng = random.Random(1)
    for _ in range(60):
        model.log.log.abandon()
        shutil.rmtree(model.log.directory)
        shutil.copytree(saved, model.log.directory)
        model.log.first_dirty_offset = first_dirty_offset
        model.log.reopen()
        with failing_at(rng.randrange(seen[0] // 2, seen[0]), Crash), suppress(Crash):
            model.log.clean()
        with failing_at(rng.randrange(1, 40), Crash), suppress(Crash):
            model.log.reopen()
        model.log.reopen()
        model.check()


def test_a_failing_disk_leaves_a_log_that_can_be_read(compacted, tmp_path: Path):
    model = dirty(compacted, 1)
    saved = tmp_path / "saved"
    shutil.copytree(model.log.directory, saved)
    first_dirty_offset = model.log.first_dirty_offset
    failures = 0
    for count in range(1, 1000):
        with failing_at(count, OSError) as seen:
            try:
                model.log.clean()
            except (OSError, StorageError):
                failures += 1
        model.check()
        if seen[0] < count:
            break
        model.append(random.Random(count))
        model.restart(clean=False)
        model.check()
        del model.history[max(model.history)]
        model.log.log.abandon()
        shutil.rmtree(model.log.directory)
        shutil.copytree(saved, model.log.directory)
        model.log.first_dirty_offset = first_dirty_offset
        model.log.reopen()
        model.history = {o: pair for o, pair in model.history.items() if o < model.log.log.log_end_offset}
        model.open = {}
        model.log._sequences = {e.producer_id: e.last_sequence + 1 for e in model.log.log.producers}
    assert failures > 50

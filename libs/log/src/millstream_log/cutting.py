"""Cutting a log's end off: where the cut is, and the steps that make the disk agree with it.

Nothing is copied: later segments step aside, the one that spans the cut becomes shorter, and what is appended next goes to a new
one. So bytes that were given to a send are never written over, what was flushed stays flushed, and a log of any size takes
the same few steps. They are safe to stop after any of them: `truncation_mark` says what is left to do.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from millstream_log.atomic_file import replace_file
from millstream_log.disk import Disk, unlink_if_there
from millstream_log.errors import CorruptFile, StorageError
from millstream_log.file_slice import SegmentFile
from millstream_log.flush import GIVEN_UP, FlushState
from millstream_log.gap_mark import forget_short_segments
from millstream_log.leader_epochs import LeaderEpochs
from millstream_log.producer_snapshot import delete_snapshots, load_snapshot, snapshot_offsets, store_snapshot
from millstream_log.producer_state import ProducerState
from millstream_log.recalled_batches import recall_batches
from millstream_log.replay import replay
from millstream_log.segment import Segment
from millstream_log.segment_swap import DELETED
from millstream_log.shortened import Shortened
from millstream_log.transaction_index import NO_ROOM, TransactionIndex
from millstream_log.truncation_mark import TruncationMark, finish_mark, load_unfinished, store_mark
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import NO_TIMESTAMP, RecordsError

logger = logging.getLogger(__name__)

_KINDS = ("log", "index", "timeindex", "txnindex")


@dataclass(frozen=True, slots=True)
class Cut:
    """A log as it will be, found without changing anything: work for a thread, while nobody else appends."""

    generation: int
    """The log's when it was looked at; a cut of another one is void."""
    end_offset: int
    start_offset: int
    kept: tuple[Segment, ...]
    """The segments that stay; the last of them becomes shorter where `shortened` says so."""
    shortened: Shortened | None
    gone_from: int
    """The base offset of the first segment that goes; 0 if all do."""
    producers: ProducerState
    now_ms: int
    has_history: bool
    """Whether anything of what was is remembered: not if the log begins anew somewhere else."""

    def mark(self, checkpoint_offset_max: int) -> TruncationMark:
        shortened = self.shortened
        return TruncationMark(
            end_offset=self.end_offset,
            start_offset=self.start_offset,
            checkpoint_offset_max=min(self.end_offset, checkpoint_offset_max),
            history_end=self.end_offset if self.has_history else -1,
            gone_from=self.gone_from,
            kept_base=self.kept[-1].base_offset if shortened is not None else -1,
            kept_size=shortened.size if shortened is not None else 0,
        )


def find_cut(
    directory: Path, segments: Sequence[Segment], offset: int, *, log_start_offset: int, generation: int, now_ms: int
) -> Cut:
    """Find the cut that lets the log end at `offset` or, if a batch spans it, before that batch."""
    at = max(at for at, segment in enumerate(segments) if at == 0 or segment.base_offset <= offset)
    segment = segments[at]
    position = segment.position_of(offset)
    end_offset = min(offset, segment.header_at(position).base_offset) if position < segment.size else offset
    if end_offset < log_start_offset or end_offset < segments[0].base_offset:
        return cut_of_everything(
            log_start_offset, generation=generation, now_ms=now_ms
        )  # what is left had been deleted by request
    kept = tuple(segments[: at + 1 if position else at])
    shortened = _shortened(segment, position, end_offset) if position else None
    gone_from = segment.base_offset + 1 if position else segment.base_offset if at else 0
    producers = producers_at(directory, kept, end_offset, now_ms, segment.disk)
    return Cut(
        generation, end_offset, log_start_offset, kept, shortened, gone_from, producers, now_ms, has_history=True
    )


def cut_of_everything(start_offset: int, *, generation: int, now_ms: int) -> Cut:
    """The log becomes an empty one that starts at `start_offset`."""
    producers = ProducerState()
    producers.snapshot_offset = start_offset
    return Cut(generation, start_offset, start_offset, (), None, 0, producers, now_ms, has_history=False)


def _shortened(segment: Segment, size: int, end_offset: int) -> Shortened:
    index_entries = segment.index.count_before(size)
    time_entries = segment.times.count_before(end_offset)
    timestamp, offset = segment.times.largest_of(time_entries) or (NO_TIMESTAMP, segment.base_offset)
    for position, header in segment.headers(segment.index.position_at(index_entries)):
        if position >= size:
            break
        if header.max_timestamp > timestamp:
            timestamp, offset = header.max_timestamp, header.last_offset
    return Shortened(
        size=size,
        end_offset=end_offset,
        index_entries=index_entries,
        last_index_entry=segment.index[index_entries - 1] if index_entries else None,
        time_entries=time_entries,
        last_time_entry=segment.times[time_entries - 1] if time_entries else None,
        max_timestamp=timestamp,
        max_timestamp_offset=offset,
    )


def producers_at(directory: Path, kept: Sequence[Segment], end_offset: int, now_ms: int, disk: Disk) -> ProducerState:
    """What the log knew of its producers there: the latest snapshot before it, and the batches from that on."""
    state = ProducerState()
    state.snapshot_offset = kept[0].base_offset if kept else end_offset
    for offset in reversed([each for each in snapshot_offsets(directory) if each <= end_offset]):
        try:
            state = load_snapshot(directory, offset, disk)
            break
        except CorruptFile as error:
            logger.warning("producer snapshot skipped error=%s", error)
    recall_batches(kept, state)
    for segment in kept:
        if segment.end_offset <= state.snapshot_offset or segment.size == 0:
            continue
        fd = segment.file.fileno()
        for position, header in segment.headers(segment.position_of(state.snapshot_offset)):
            if header.base_offset >= end_offset:
                break
            batch = disk.read(fd, header.size, position) if header.is_control else b""
            replay(state, header, batch, now_ms)
    return state


class Truncation:
    """Made on the event loop, when the log in memory is cut already; `perform` may run in a thread and lets the disk follow."""

    def __init__(
        self, directory: Path, disk: Disk, state: FlushState, mark: TruncationMark, cut: Cut, *, epochs: bytes
    ) -> None:
        self._directory = directory
        self._disk = disk
        self._state = state
        self.mark = mark
        self._epochs = epochs
        self._producers = cut.producers
        self._all_kept = cut.kept
        self._kept: Segment | None = cut.kept[-1] if cut.shortened is not None else None
        self._file: SegmentFile | None = None
        self._indexes: tuple[tuple[Path, bytes, int], ...] = ()
        if self._kept is not None:
            self._file = self._kept.file
            self._indexes = (self._kept.index.unsettled(), self._kept.times.unsettled())
        self.doomed: list[Path] = []
        """After `perform`: files that are out of the way, to be removed."""
        self._are_aside = False
        self._is_syncing = False
        """Whether an error means that the kernel has forgotten what it could not write."""
        self.refused: OSError | None = None
        """Why the last attempt came to no end."""

    def perform(self) -> None:
        """Wait for the disk. An error is final for the log: the next start completes the truncation, or finds none."""
        refused = self.attempt()
        if refused is not None:
            with self._state.lock:
                self._state.failure = refused
            raise refused

    def attempt(self) -> OSError | None:
        """As `perform`, but a full disk is not final: what it said is returned, and another attempt goes on from there."""
        with self._state.lock:
            if self._state.failure is GIVEN_UP:
                raise StorageError(f"{self._directory}: {GIVEN_UP}")
            try:
                self._perform()
            except OSError as error:
                if error.errno in NO_ROOM and not self._is_syncing:
                    self.refused = error
                    return error
                self._state.failure = error
                raise
        self.refused = None
        return None

    def settle(self) -> None:
        """On the event loop, after it has been performed."""
        if self._kept is not None:
            self._kept.index.settle()
            self._kept.times.settle()

    def _perform(self) -> None:
        directory, disk, mark = self._directory, self._disk, self.mark
        store_mark(directory, mark, disk)
        if not self._are_aside:  # another attempt may find the new segment that the one before made
            for path in _segment_files(directory, mark.gone_from):
                target = path.with_name(path.name + DELETED)
                with suppress(FileNotFoundError):
                    disk.rename(path, target)
                    self.doomed.append(target)
            self._are_aside = True
        for segment in self._all_kept:
            segment.aborted.complete()
        if self._kept is not None and self._file is not None:
            self._is_syncing = True
            disk.ftruncate(self._file.fileno(), mark.kept_size)
            disk.fsync(self._file.fileno())
            for path, data, position in self._indexes:
                _settle_index(disk, path, data, position)
            self._kept.aborted.store_shortened()
            self._is_syncing = False
        delete_snapshots(directory, after=mark.history_end, disk=disk)
        forget_short_segments(directory, mark.end_offset, disk)  # a crash before the end: whoever opens the log does it
        replace_file(directory / LeaderEpochs.NAME, self._epochs, durable=True, disk=disk)
        Segment(directory, mark.end_offset, created_ms=0, disk=disk).create()
        # Recovery will begin at the snapshot: what was aborted before it has to be on the disk, or is read as committed.
        self._is_syncing = True
        for segment in self._all_kept:
            segment.aborted.sync()
        self._is_syncing = False
        store_snapshot(directory, self._producers, mark.end_offset, disk)
        self._is_syncing = True
        disk.sync_directory(directory)
        finish_mark(directory, disk)


def _settle_index(disk: Disk, path: Path, data: bytes, position: int) -> None:
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        disk.write(fd, data, position)
        disk.ftruncate(fd, position + len(data))
        disk.fsync(fd)
    finally:
        disk.close(fd)


def _segment_files(directory: Path, from_offset: int) -> list[Path]:
    """The files of the segments from that base offset on, those of batches last: without them the others mean nothing."""
    names = [name.partition(".") for name in os.listdir(directory)]
    found = [
        directory / f"{stem}.{kind}"
        for stem, _, kind in names
        if kind in _KINDS and len(stem) == 20 and stem.isdecimal() and int(stem) >= from_offset
    ]
    return sorted(found, key=lambda path: (path.suffix == ".log", path.name))


def complete_truncation(directory: Path, disk: Disk) -> None:
    """Do again, from the files alone, what a crash interrupted. Every step may have been taken or not."""
    mark = load_unfinished(directory, disk)
    if mark is None:
        return
    logger.warning("interrupted truncation completed log=%s end_offset=%d", directory, mark.end_offset)
    for path in _segment_files(directory, mark.gone_from):
        disk.unlink(path)
    if mark.kept_base >= 0:
        _shorten_files(directory / f"{mark.kept_base:020d}.log", mark, disk)
    delete_snapshots(directory, after=mark.history_end, disk=disk)
    epochs = LeaderEpochs(directory, disk)
    with suppress(CorruptFile):  # recovery asks the batches
        epochs.load()
        epochs.truncate_end(mark.history_end)
        epochs.store(durable=True)
    Segment(directory, mark.end_offset, created_ms=0, disk=disk).create()
    disk.sync_directory(directory)
    finish_mark(directory, disk)


def _shorten_files(log_path: Path, mark: TruncationMark, disk: Disk) -> None:
    """Leave the indexes of batches to recovery, which makes them anew."""
    fd = disk.open(log_path, os.O_RDWR)
    try:
        if os.fstat(fd).st_size > mark.kept_size:
            disk.ftruncate(fd, mark.kept_size)
        disk.fsync(fd)
    finally:
        disk.close(fd)
    for suffix in (".index", ".timeindex"):
        unlink_if_there(disk, log_path.with_suffix(suffix))
    aborted = TransactionIndex(log_path.with_suffix(".txnindex"), disk)
    try:
        aborted.truncate_to(mark.end_offset)
        aborted.sync()
    except RecordsError as error:
        raise StorageError(f"{aborted.path}: {error}") from error

"""Opening a partition's directory after whatever happened to it: from its files to segments, producers and epochs.

After a clean shutdown only the last segment's tail is read. After anything else every segment that may not have
reached the disk is checked batch by batch, and the log ends before the first batch that is not whole.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from millstream_log.config import LogConfig
from millstream_log.cutting import complete_truncation
from millstream_log.disk import Disk, make_directories
from millstream_log.errors import CorruptFile
from millstream_log.gap_mark import ANYWHERE
from millstream_log.leader_epochs import UNDEFINED_EPOCH, EpochStart, LeaderEpochs
from millstream_log.producer_snapshot import load_snapshot, snapshot_offsets, snapshot_path
from millstream_log.producer_state import ProducerState
from millstream_log.recalled_batches import recall_batches
from millstream_log.replay import replay
from millstream_log.segment import Segment
from millstream_log.segment_swap import base_of, complete_swaps
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import BatchHeader, RecordsError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a directory holds. `segments` is never empty, its last one takes the appends."""

    segments: list[Segment]
    producers: ProducerState
    epochs: LeaderEpochs
    log_start_offset: int


def recover(
    directory: Path,
    config: LogConfig,
    *,
    recovery_point: int,
    log_start_offset: int,
    clean: bool = True,
    may_have_gaps: bool = True,
    short_before: int = ANYWHERE,
    now_ms: int,
    disk: Disk,
) -> Recovered:
    """Bring the directory into a state that can be read and appended to."""
    make_directories(disk, directory)
    is_new = not os.listdir(directory)
    complete_swaps(directory, disk)
    complete_truncation(directory, disk)
    _remove_leftovers(directory, disk)
    segments = _load_segments(
        directory,
        config,
        recovery_point=recovery_point,
        clean=clean,
        may_have_gaps=may_have_gaps,
        short_before=short_before,
        now_ms=now_ms,
        disk=disk,
    )
    if not segments:
        segments = [Segment(directory, log_start_offset, created_ms=now_ms, disk=disk)]
        segments[0].create()
    end_offset = segments[-1].end_offset
    epochs = _load_epochs(directory, end_offset, disk)
    log_start_offset = min(max(log_start_offset, segments[0].base_offset), end_offset)
    _begin_epochs(epochs, segments, log_start_offset)
    if not clean:
        _learn_epochs(epochs, segments, recovery_point)
    producers = _load_producers(directory, segments, end_offset, disk)
    recall_batches(segments, producers)
    for header in _replay(segments, producers, now_ms):
        epochs.assign(header.leader_epoch, header.base_offset)
    if not (clean or is_new):
        disk.sync_directory(directory)  # what was removed must not come back among what is appended from now on
    for segment in segments:
        segment.close()  # most logs of a node are idle: the first use opens the file
    return Recovered(segments, producers, epochs, log_start_offset)


def _remove_leftovers(directory: Path, disk: Disk) -> None:
    """Remove what an interrupted replacement or deletion left behind."""
    names = os.listdir(directory)
    logs = {name[:-4] for name in names if name.endswith(".log")}
    for name in names:
        stem, _, kind = name.partition(".")
        orphan = kind in ("index", "timeindex", "txnindex") and stem not in logs
        if orphan or kind.rpartition(".")[2] in ("tmp", "deleted"):
            disk.unlink(directory / name)


def _load_segments(
    directory: Path,
    config: LogConfig,
    *,
    recovery_point: int,
    clean: bool,
    may_have_gaps: bool,
    short_before: int,
    now_ms: int,
    disk: Disk,
) -> list[Segment]:
    bases = sorted(
        base_of(directory, name) for name in os.listdir(directory) if len(name) == 24 and name.endswith(".log")
    )
    segments: list[Segment] = []
    for at, base_offset in enumerate(bases):
        segment = Segment(directory, base_offset, created_ms=now_ms, disk=disk)
        end_offset = bases[at + 1] if at + 1 < len(bases) else None
        segments.append(segment)
        settled = clean or (end_offset is not None and end_offset <= recovery_point)
        if settled and _load(segment, end_offset):
            continue
        # Where the file was taken to be sound and is not, nothing in it is trusted.
        cut = segment.recover(config, trusted_offset=base_offset if settled else recovery_point)
        if cut:
            logger.warning("torn tail cut log=%s bytes=%d end_offset=%d", segment.log_path, cut, segment.end_offset)
        if end_offset is None:
            break
        # Only cleaning leaves gaps between batches: elsewhere what is missing here was lost, also at a batch's edge.
        may_be_short = may_have_gaps and base_offset < short_before
        is_short = segment.end_offset < end_offset and (cut > 0 or not may_be_short)
        is_torn = is_short or segment.end_offset > end_offset
        if is_torn and not settled:
            _drop_after(directory, bases[at + 1 :], now_ms, disk)
            break
        segment.end_offset = end_offset
    return segments


def _load(segment: Segment, end_offset: int | None) -> bool:
    try:
        return segment.load(end_offset)
    except RecordsError as error:
        logger.warning("segment unreadable log=%s error=%s", segment.log_path, error)
        return False


def _drop_after(directory: Path, bases: list[int], now_ms: int, disk: Disk) -> None:
    """Remove segments behind a gap: a log is what it holds without interruption."""
    for base_offset in bases:
        segment = Segment(directory, base_offset, created_ms=now_ms, disk=disk)
        logger.warning("segment behind a torn one removed log=%s", segment.log_path)
        segment.delete()


def _load_epochs(directory: Path, end_offset: int, disk: Disk) -> LeaderEpochs:
    epochs = LeaderEpochs(directory, disk)
    try:
        epochs.load()
    except CorruptFile as error:
        logger.warning("leader epochs unreadable error=%s", error)
    epochs.truncate_end(end_offset)
    return epochs


def _begin_epochs(epochs: LeaderEpochs, segments: list[Segment], start_offset: int) -> None:
    """Let the epochs begin where the log does: the file of them and the checkpoint of its start are of different times.

    A start that was moved and not yet checkpointed is taken back by a kill, and what is there again is of the epochs of its batches.
    """
    epochs.truncate_start(start_offset)
    known_from = epochs.entries[0].start_offset if epochs.entries else segments[-1].end_offset
    earlier = list(_epochs_between(segments, start_offset, known_from))
    if earlier:
        epochs.extend_start(earlier)


def _epochs_between(segments: list[Segment], start_offset: int, end_offset: int) -> Iterator[EpochStart]:
    """What the batches say that begin before `end_offset` and reach beyond `start_offset`."""
    latest = UNDEFINED_EPOCH
    for segment in segments:
        if segment.base_offset >= end_offset:
            return
        if segment.end_offset <= start_offset or segment.size == 0:
            continue
        for _, header in segment.headers(segment.position_of(start_offset)):
            if header.base_offset >= end_offset:
                return
            if header.leader_epoch > latest:
                latest = header.leader_epoch
                yield EpochStart(latest, max(header.base_offset, start_offset))


def _learn_epochs(epochs: LeaderEpochs, segments: list[Segment], recovery_point: int) -> None:
    """Take epochs that began behind the recovery point from the batches: only up to there the file is sure to have them."""
    for segment in segments:
        if segment.end_offset > recovery_point and segment.size:
            for _, header in segment.headers(segment.position_of(recovery_point)):
                epochs.assign(header.leader_epoch, header.base_offset)


def _load_producers(directory: Path, segments: list[Segment], end_offset: int, disk: Disk) -> ProducerState:
    """Load the latest snapshot that the log reaches; keep besides it only those at the start of a segment."""
    state: ProducerState | None = None
    bases = {segment.base_offset for segment in segments}
    for offset in reversed(snapshot_offsets(directory)):
        path = snapshot_path(directory, offset)
        if offset > end_offset:
            disk.unlink(path)
        elif state is None:
            try:
                state = load_snapshot(directory, offset, disk)
            except CorruptFile as error:
                logger.warning("producer snapshot removed error=%s", error)
                disk.unlink(path)
        elif offset not in bases:
            disk.unlink(path)
    if state is None:
        state = ProducerState()
        state.snapshot_offset = segments[0].base_offset
    return state


def _replay(segments: list[Segment], producers: ProducerState, now_ms: int) -> Iterator[BatchHeader]:
    """Bring producers up to the log's end by the headers of the batches that they do not know yet."""
    from_offset = producers.snapshot_offset
    for segment in segments:
        if segment.end_offset <= from_offset:
            if segment is segments[-1]:  # the log may have been cut back to just here
                segment.aborted.truncate_to(segment.end_offset)
            continue
        segment.aborted.truncate_to(from_offset)
        fd = segment.file.fileno()
        for position, header in segment.headers(segment.position_of(from_offset)):
            batch = segment.disk.read(fd, header.size, position) if header.is_control else b""
            aborted = replay(producers, header, batch, now_ms)
            if aborted is not None:
                segment.aborted.add(aborted)
            yield header

"""Which transactions ended at the end of a log: what is not committed of them yet may still be lost."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream_log.cutting import producers_at
from millstream_log.disk import Disk
from millstream_log.producer_state import ProducerEntry
from millstream_log.replay import begun_at, replay
from millstream_log.segment import Segment


def ended_transactions(
    directory: Path,
    segments: Sequence[Segment],
    producers: Iterable[ProducerEntry],
    from_offset: int,
    now_ms: int,
    disk: Disk,
) -> list[tuple[int, int]]:
    """(marker's offset, first offset) of each transaction whose marker is at `from_offset` or later.

    `producers` are those at the log's end: without one that ever ended a transaction there is nothing to look for.
    """
    if segments[-1].end_offset <= from_offset or all(each.coordinator_epoch < 0 for each in producers):
        return []
    state = producers_at(directory, segments, from_offset, now_ms, disk)
    found = []
    for segment in segments:
        if segment.end_offset <= from_offset or segment.size == 0:
            continue
        for position, header in segment.headers(segment.position_of(from_offset)):
            begun = begun_at(state, header)
            batch = disk.read(segment.file.fileno(), header.size, position) if header.is_control else b""
            replay(state, header, batch, now_ms)
            if begun >= 0:
                found.append((header.last_offset, begun))
    return found

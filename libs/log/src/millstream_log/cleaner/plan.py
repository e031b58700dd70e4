"""Which part of a log is to be cleaned, whether it is worth it, and which segments become one: plans that touch no file."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from millstream_wire.late_dataclass import dataclass

_RELATIVE_OFFSETS = (1 << 31) - 1
_GROUP_SEGMENTS_MAX = 64  # a swap renames each file of its group while nothing else runs


class SizedIndex(Protocol):
    @property
    def size(self) -> int: ...


class CleanableSegment(Protocol):
    """What the plans look at; a segment's time is its largest timestamp."""

    @property
    def base_offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def index(self) -> SizedIndex: ...
    @property
    def times(self) -> SizedIndex: ...


S = TypeVar("S", bound=CleanableSegment)


@dataclass(frozen=True, slots=True)
class Compaction:
    """A topic's settings, each Kafka's config of nearly that name."""

    min_cleanable_ratio: float = 0.5
    """min.cleanable.dirty.ratio: the dirty part of what can be cleaned that makes it worth it."""
    min_lag_ms: int = 0
    """min.compaction.lag.ms: how long every record stays."""
    max_lag_ms: int = (1 << 63) - 1
    """max.compaction.lag.ms: how long a record may stay dirty."""
    delete_retention_ms: int = 86_400_000
    """delete.retention.ms: how long tombstones and markers stay after what they end is gone."""


@dataclass(frozen=True, slots=True)
class Cleanable:
    """Whole segments up to `end_offset` can be cleaned; before `first_dirty_offset` they have been."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def find_cleanable(
    segments: Sequence[CleanableSegment],
    compaction: Compaction,
    *,
    first_dirty_offset: int,
    stable_offset: int,
    now_ms: int,
) -> Cleanable:
    """Leave out the segment that takes the appends, and from the first on that is not committed or too young.

    `stable_offset`: everything before it is committed, and no transaction that began before it is open.
    """
    start, end = segments[0].base_offset, segments[-1].base_offset
    first_dirty = first_dirty_offset if start <= first_dirty_offset <= segments[-1].end_offset else start
    for segment in segments[:-1]:
        is_dirty = segment.end_offset > first_dirty
        is_young = compaction.min_lag_ms > 0 and segment.max_timestamp > now_ms - compaction.min_lag_ms
        if is_dirty and (segment.end_offset > stable_offset or is_young):
            end = segment.base_offset
            break
    end = max(end, first_dirty)
    inside = [segment for segment in segments[:-1] if segment.base_offset < end]
    dirty_bytes = sum(segment.size for segment in inside if segment.end_offset > first_dirty)
    return Cleanable(first_dirty, end, sum(segment.size for segment in inside) - dirty_bytes, dirty_bytes)


def wants_cleaning(cleanable: Cleanable, compaction: Compaction, *, dirty_since_ms: int, now_ms: int) -> bool:
    """Whether enough is dirty, or anything for too long; `dirty_since_ms` is the first dirty record's time, -1 if it has none."""
    if cleanable.dirty_bytes == 0:
        return False
    if cleanable.dirty_ratio > compaction.min_cleanable_ratio:
        return True
    return 0 <= dirty_since_ms < now_ms - max(compaction.max_lag_ms, compaction.min_lag_ms)


def group_segments(segments: Sequence[S], *, segment_bytes: int, segment_index_bytes: int) -> Iterator[list[S]]:
    """Group neighbours that fit in one segment, even if cleaning should free nothing."""
    group: list[S] = []
    log_bytes = index_bytes = time_bytes = 0
    for segment in segments:
        log_bytes += segment.size
        index_bytes += segment.index.size
        time_bytes += segment.times.size
        fits = log_bytes <= segment_bytes and max(index_bytes, time_bytes) <= segment_index_bytes
        if group and not (
            fits
            and segment.end_offset - 1 - group[0].base_offset <= _RELATIVE_OFFSETS
            and len(group) < _GROUP_SEGMENTS_MAX
        ):
            yield group
            group = []
            log_bytes, index_bytes, time_bytes = segment.size, segment.index.size, segment.times.size
        group.append(segment)
    if group:
        yield group

"""What a log may let go of, segments and producers: a plan over sizes and times, which touches no file."""

from collections.abc import Sequence
from typing import Final, Protocol

from millstream_wire.late_dataclass import dataclass


class RetainedSegment(Protocol):
    """What the plan looks at; a segment's time is its largest timestamp."""

    @property
    def size(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def created_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Retention:
    """A topic's limits; a negative one is none."""

    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    deletes: bool = True
    """cleanup.policy has delete. Without it no segment goes, whatever the limits say."""
    forgets_producers: bool = True
    """Whether producers that have been silent for long are forgotten."""


KEEPS_ALL: Final = Retention(deletes=False, forgets_producers=False)
"""Of the coordinators' topics: offsets and the shards' fences, of which nothing may be forgotten by age."""


def expired_segments(
    segments: Sequence[RetainedSegment],
    retention: Retention,
    *,
    log_start_offset: int,
    deletable_end_offset: int,
    now_ms: int,
) -> int:
    """Return how many of the oldest segments can go.

    Only whole segments below `deletable_end_offset` (the high watermark) go, oldest first; the first that has to
    stay ends the plan. If the answer is all of them, the last one is to be rolled first.
    """
    if not retention.deletes:
        return 0
    excess = sum(segment.size for segment in segments) - retention.retention_bytes
    count = 0
    for segment in segments:
        if segment.end_offset > deletable_end_offset or segment.size == 0:
            break
        time = segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms
        too_old = retention.retention_ms >= 0 and now_ms - time > retention.retention_ms
        too_much = retention.retention_bytes >= 0 and excess - segment.size >= 0
        if not (too_old or too_much or segment.end_offset <= log_start_offset):
            break
        excess -= segment.size
        count += 1
    return count

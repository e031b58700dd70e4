"""How long groups have been behind, from where the ends of logs were when, and since when a group has not moved. Pure.

What the operator has not seen itself it asks the brokers for once (`AGES_MS`), so it knows hours of lag right after a start. Times
between two points are taken from the line between them. Points are thinned as they age, so that a partition has few of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from millstream_cluster.offset_resets import Partition

_MINUTE_MS = 60_000
AGES_MS = tuple(minutes * _MINUTE_MS for minutes in (1, 3, 10, 30, 120, 480, 1440, 4320, 10_080, 43_200))
"""How long ago the ends are asked for where the operator has not looked for long enough."""
NARROWED = 7
"""How often the time between the two nearest of them is halved then: what is left is less than a thirtieth of the age."""
POINTS_MAX = 64


class Point(NamedTuple):
    time_ms: int
    end: int


class Still(NamedTuple):
    """Where a group is in a partition, and since when."""

    position: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Behind:
    """How one group is behind."""

    ms: int = 0
    """Since the oldest record that it has not read was written."""
    stuck: Mapping[Partition, int] = field(default_factory=dict)
    """Since when it has not moved, though it has members and records to read."""


class EndHistory:
    """Of one partition. Times ascend, ends do not go back; of a time of rest the first and the last point are there."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self.is_asked_for = False
        """Its past is there as well, as far as anybody knows it."""

    def saw(self, time_ms: int, end: int) -> None:
        points = self._points
        if points and end < points[-1].end:
            points.clear()
        if len(points) >= 2 and points[-2].end == end:
            points.pop()
        points.append(Point(time_ms, end))
        if len(points) > POINTS_MAX:
            self._thin()

    def remember(self, past: Iterable[Point]) -> None:
        """What contradicts the points that are there is left out."""
        self.is_asked_for = True
        merged: list[Point] = []
        own = set(self._points)
        for point in sorted({*own, *past}):
            if point in own:
                merged = [each for each in merged if each.end <= point.end]
            elif merged and point.end < merged[-1].end:
                continue
            merged.append(point)
        self._points = []
        for point in merged:
            self.saw(*point)

    def reaches(self, position: int) -> bool:
        """Whether it goes back to when the record at `position` was written."""
        return bool(self._points) and self._points[0].end <= position

    def between(self, position: int) -> tuple[int, int] | None:
        """The times of the points before and after the log's end went past `position`, where both are known."""
        before = None
        for point in self._points:
            if point.end > position:
                return None if before is None else (before.time_ms, point.time_ms)
            before = point
        return None

    def passed_at(self, position: int) -> int | None:
        """When the log's end went past `position`; None if it has not. What is older than the first point has its time."""
        before = None
        for point in self._points:
            if point.end > position:
                if before is None:
                    return point.time_ms
                part = (position - before.end) / (point.end - before.end)
                return round(before.time_ms + part * (point.time_ms - before.time_ms))
            before = point
        return None

    def _thin(self) -> None:
        """Leave out the point whose neighbours are nearest to each other for their age."""
        points = self._points
        newest_ms = points[-1].time_ms

        def loss(at: int) -> float:
            return (points[at + 1].time_ms - points[at - 1].time_ms) / (newest_ms - points[at - 1].time_ms + 1)

        del points[min(range(1, len(points) - 1), key=loss)]


class LagTimes:
    """Of all groups of a cluster; bounded by the partitions that they read."""

    def __init__(self) -> None:
        self._histories: dict[Partition, EndHistory] = {}
        self._still: dict[str, dict[Partition, Still]] = {}

    def saw(self, now_ms: int, ends: Mapping[Partition, int], groups: Iterable[str]) -> None:
        """The ends of all partitions that these groups read; what is not among them is forgotten."""
        self._histories = {each: self._histories.get(each) or EndHistory() for each in ends}
        for each, end in ends.items():
            self._histories[each].saw(now_ms, end)
        self._still = {group: self._still[group] for group in groups if group in self._still}

    def unknown(self, unread: Iterable[Mapping[Partition, int]]) -> dict[Partition, int]:
        """Those whose past has to be asked for, with the oldest record that somebody has not read. `unread`: of each group."""
        oldest: dict[Partition, int] = {}
        for positions in unread:
            for partition, position in positions.items():
                history = self._histories[partition]
                if not history.is_asked_for and not history.reaches(position):
                    oldest[partition] = min(position, oldest.get(partition, position))
        return oldest

    def narrowing(self, positions: Mapping[Partition, int]) -> dict[Partition, int]:
        """The middle of the time in which each of these records was written: what has to be asked for next."""
        found = {each: self._histories[each].between(position) for each, position in positions.items()}
        return {each: sum(times) // 2 for each, times in found.items() if times is not None}

    def remember(self, past: Mapping[Partition, Iterable[Point]]) -> None:
        for partition, points in past.items():
            self._histories[partition].remember(points)

    def behind(
        self,
        group_id: str,
        unread: Mapping[Partition, int],
        told: Mapping[Partition, Still],
        *,
        now_ms: int,
        stuck_after_ms: int | None,
    ) -> Behind:
        """`told`: what was stuck at the last look of an operator before this one. `stuck_after_ms`: None where nobody is to move."""
        before = self._still.get(group_id, told) if stuck_after_ms is not None else {}
        still = {each: _still_at(position, before.get(each), now_ms) for each, position in unread.items()}
        self._still[group_id] = still
        return Behind(
            ms=self.oldest_ms(unread, now_ms),
            stuck={
                each: at.since_ms
                for each, at in still.items()
                if stuck_after_ms is not None and now_ms - at.since_ms >= stuck_after_ms
            },
        )

    def oldest_ms(self, unread: Mapping[Partition, int], now_ms: int) -> int:
        """How long ago the oldest of these records was written; 0 if there is none."""
        written = [
            at_ms
            for each, position in unread.items()
            if each in self._histories and (at_ms := self._histories[each].passed_at(position)) is not None
        ]
        return max(0, now_ms - min(written, default=now_ms))


def _still_at(position: int, before: Still | None, now_ms: int) -> Still:
    return before if before is not None and before.position == position else Still(position, now_ms)

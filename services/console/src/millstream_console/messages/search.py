"""Finds messages in the partitions of a topic, in the order of their time, forwards or backwards from where it is told.

Looks until it has as many as are wanted or has spent its budget; where it stopped is its answer too, and the next search goes on there.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream_client import Cluster, InvalidData, TopicPartition
from millstream_client.browsing import Piece, browse
from millstream_console.messages.row import Wanted, row_of
from millstream_wire.errors import ErrorCode
from millstream_wire.records import RecordsError, parse_header, split

BUDGET_MS = 4_000
BUDGET_BYTES = 64 * 1024 * 1024
ROUND_BYTES = 8 * 1024 * 1024
PIECE_BYTES_LEAST = 64 * 1024
PIECE_BYTES_MOST = 1024 * 1024
WINDOW_MAX = 10_000

Look = Callable[[Mapping[int, int], int], Awaitable[Mapping[int, Piece]]]
"""What is in some partitions from these offsets on, about so many bytes of each; without those that nobody can tell of."""


@dataclass(slots=True)
class Lane:
    """One partition: [first, end) is what there is to look at.

    Invariant: what lies between `reach` and the far side was looked at, and what of it is wanted was given out or is `held`.
    """

    partition: int
    first: int
    end: int
    forwards: bool
    window: int
    """Backwards: how many offsets are looked at next; forwards: how many messages are held at most."""
    reach: int = field(init=False)
    held: deque[dict[str, Any]] = field(default_factory=deque)
    scanned: int = 0
    failed: ErrorCode | None = None

    def __post_init__(self) -> None:
        self.reach = self.first if self.forwards else self.end

    @property
    def is_over(self) -> bool:
        return self.failed is not None or (self.reach >= self.end if self.forwards else self.reach <= self.first)

    @property
    def asks_from(self) -> int:
        return self.reach if self.forwards else max(self.first, self.reach - self.window)

    @property
    def next_reach(self) -> int:
        """Where a later search goes on."""
        if not self.held:
            return self.reach
        offset: int = self.held[0]["offset"]
        return offset if self.forwards else offset + 1

    def take_in(self, piece: Piece | None, wanted: Wanted) -> None:
        """What a fetch from `asks_from` brought."""
        if piece is None:
            self.failed = ErrorCode.LEADER_NOT_AVAILABLE
            return
        if piece.error is ErrorCode.OFFSET_OUT_OF_RANGE and self.asks_from < piece.first_offset:
            self._cut(piece.first_offset)
            return
        if piece.error is not ErrorCode.NONE:
            self.failed = piece.error
            return
        start, stop = self.asks_from, self.end if self.forwards else self.reach
        covered = min(_covered(piece, start, stop), stop)
        if not self.forwards and covered < stop:
            # Only what joins what was seen before is of use: less than half of what came is surely short enough.
            self.window = max(1, (covered - start) // 2)
            return
        found: list[dict[str, Any]] = []
        for stored in piece.records(start):
            if stored.record.offset >= covered:
                break
            if self.forwards and len(found) >= self.window:
                # A piece may hold a million: the rest is fetched again when it is wanted.
                covered = stored.record.offset
                break
            self.scanned += 1
            if wanted.takes(stored):
                found.append(row_of(self.partition, stored))
        if self.forwards:
            self.held.extend(found)
            self.reach = covered
        else:
            self.held.extend(reversed(found))
            self.reach = start
            self.window = min(2 * self.window, WINDOW_MAX)

    def _cut(self, first: int) -> None:
        """Retention was faster: the beginning is gone."""
        self.first = min(first, self.end)
        self.reach = max(self.reach, self.first)


def _covered(piece: Piece, start: int, stop: int) -> int:
    """Up to where a fetch has told everything; no batch at all means that there is none."""
    covered = start
    try:
        for batch in split(piece.batches, torn_tail=True):
            covered = parse_header(batch).next_offset
    except RecordsError as error:
        raise InvalidData(str(error)) from error
    return covered if covered > start else stop


@dataclass(frozen=True, slots=True)
class Found:
    rows: list[dict[str, Any]]
    scanned: int
    go_on: dict[int, int] | None
    """By partition, where a later search goes on; None at the end of everything."""
    failed: dict[int, ErrorCode]


class Search:
    def __init__(
        self, look: Look, lanes: Sequence[Lane], wanted: Wanted, limit: int, now_ms: Callable[[], int]
    ) -> None:
        self._look = look
        self._lanes = lanes
        self._wanted = wanted
        self._limit = limit
        self._now_ms = now_ms
        self._deadline_ms = now_ms() + BUDGET_MS
        self._bytes_left = BUDGET_BYTES

    async def run(self) -> Found:
        rows: list[dict[str, Any]] = []
        while len(rows) < self._limit:
            short = [lane for lane in self._lanes if not lane.held and not lane.is_over]
            if short and not self._is_spent:
                await self._fill(short)
                continue
            ready = [lane for lane in self._lanes if lane.held]
            if not ready:
                break
            rows.append(_next(ready).held.popleft())
        is_over = all(lane.is_over and not lane.held for lane in self._lanes)
        return Found(
            rows,
            sum(lane.scanned for lane in self._lanes),
            None if is_over else {lane.partition: lane.next_reach for lane in self._lanes},
            {lane.partition: lane.failed for lane in self._lanes if lane.failed is not None},
        )

    @property
    def _is_spent(self) -> bool:
        return self._bytes_left <= 0 or self._now_ms() > self._deadline_ms

    async def _fill(self, lanes: Sequence[Lane]) -> None:
        piece_bytes = min(max(PIECE_BYTES_LEAST, ROUND_BYTES // len(lanes)), PIECE_BYTES_MOST)
        pieces = await self._look({lane.partition: lane.asks_from for lane in lanes}, piece_bytes)
        came = sum(len(piece.batches) for piece in pieces.values())
        self._bytes_left -= came
        for lane in lanes:
            piece = pieces.get(lane.partition)
            # An answer is bounded: where there was no room for a partition it is asked for again. Nothing at all is no bound.
            if came == 0 or piece is None or len(piece.batches) > 0 or piece.error is not ErrorCode.NONE:
                lane.take_in(piece, self._wanted)


def _next(lanes: Sequence[Lane]) -> Lane:
    """Whose message comes next: the oldest forwards, the newest backwards."""

    def when(lane: Lane) -> tuple[int, int]:
        return lane.held[0]["timestamp"] or 0, lane.partition

    return min(lanes, key=when) if lanes[0].forwards else max(lanes, key=when)


def in_topic(cluster: Cluster, topic: str) -> Look:
    """Looks into one topic's partitions, at their leaders."""

    async def look(offsets: Mapping[int, int], piece_bytes: int) -> dict[int, Piece]:
        asked = {TopicPartition(topic, index): offset for index, offset in offsets.items()}
        found = await browse(cluster, asked, max_bytes=ROUND_BYTES, partition_max_bytes=piece_bytes)
        return {each.partition: piece for each, piece in found.items()}

    return look


def lanes_of(bounds: Mapping[int, tuple[int, int]], *, forwards: bool, limit: int) -> list[Lane]:
    """`bounds`: of each partition, from where to where."""
    filled = sum(1 for first, end in bounds.values() if end > first)
    window = limit if forwards else min(limit, max(1, 2 * limit // max(1, filled)))
    return [Lane(index, first, end, forwards, window) for index, (first, end) in sorted(bounds.items())]

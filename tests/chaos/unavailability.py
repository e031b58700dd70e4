"""How long nothing came to its end around each fault: acknowledgements by partition, commits by group, transactions by producer. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from fault_plan import Family
from history import COMMITTED, Acked, Commit, Ended, Event, Healed, Struck, Whole

TOPIC = "orders"
"""Whose producers keep a steady pace."""
CALM = "(no fault)"
BEFORE_ALL = 0
"""The number of the moment from which on the cluster was whole and every client at work."""


@dataclass(slots=True)
class Row:
    """All faults of one kind."""

    kind: str
    faults: int = 0
    gaps: list[float] = field(default_factory=list)
    """One for each fault and partition, group or producer."""
    worst_of_fault: list[float] = field(default_factory=list)
    while_it_lasted: list[float] = field(default_factory=list)
    """The worst of each fault that began before the fault was taken away: what follows is a node's return."""
    until_whole: list[float] = field(default_factory=list)
    """From where the fault was taken away to where every replica was in sync again."""

    @property
    def median_s(self) -> float:
        return median(self.gaps) if self.gaps else 0.0

    @property
    def median_worst_s(self) -> float:
        return median(self.worst_of_fault) if self.worst_of_fault else 0.0

    @property
    def median_while_it_lasted_s(self) -> float:
        return median(self.while_it_lasted) if self.while_it_lasted else 0.0

    @property
    def worst_s(self) -> float:
        return max(self.gaps, default=0.0)


@dataclass(frozen=True, slots=True)
class _Window:
    kind: str
    begins: float
    ends: float
    healed: float
    until_whole: float | None


Times = Mapping[object, Sequence[float]]
"""When something came to its end, for each of those who wait for it."""


def acknowledgements(history: Sequence[Event]) -> Times:
    """By partition."""
    times: dict[object, list[float]] = defaultdict(list)
    for each in history:
        if isinstance(each, Acked) and each.topic == TOPIC:
            times[each.partition].append(each.at)
    return times


def commits(history: Sequence[Event]) -> Times:
    """By group; whichever of its members was answered."""
    times: dict[object, list[float]] = defaultdict(list)
    for each in history:
        if isinstance(each, Commit) and not each.error:
            times[each.group].append(each.at)
    return times


def transactions(history: Sequence[Event]) -> Times:
    """By producer; its lives are one."""
    times: dict[object, list[float]] = defaultdict(list)
    for each in history:
        if isinstance(each, Ended) and each.outcome == COMMITTED:
            times[each.topic, each.producer.rpartition(".")[0]].append(each.at)
    return times


def unavailability(history: Sequence[Event], times_of: Times) -> list[Row]:
    """One row for each kind of fault, and one for the time before the first."""
    if not times_of:
        return []
    last = max(map(max, times_of.values()))
    first = next((each.at for each in history if isinstance(each, Whole) and each.number == BEFORE_ALL), last)
    windows = _windows(history, last)
    rows: dict[str, Row] = {}
    calm_until = windows[0].begins if windows else last
    for window in [_Window(CALM, first, calm_until, calm_until, None), *windows]:
        row = rows.setdefault(window.kind, Row(window.kind))
        longest = [_longest(times, window, last) for times in times_of.values()]
        begun = [_longest(times, window, last, before=window.healed) for times in times_of.values()]
        row.faults += 1
        row.gaps += longest
        row.worst_of_fault.append(max(longest))
        row.while_it_lasted.append(max(begun))
        if window.until_whole is not None:
            row.until_whole.append(window.until_whole)
    return list(rows.values())


def _windows(history: Sequence[Event], last: float) -> list[_Window]:
    """Each lasts until the next fault, or to the end; faults that struck at the same time are one."""
    struck = sorted((each for each in history if isinstance(each, Struck)), key=lambda each: each.number)
    healed = {each.number: each.at for each in history if isinstance(each, Healed)}
    whole = {each.number: each.at for each in history if isinstance(each, Whole)}
    together: dict[float, list[Struck]] = defaultdict(list)
    for each in struck:
        together[whole.get(each.number, each.at)].append(each)
    groups = list(together.values())
    ends = [*(group[0].at for group in groups[1:]), last][: len(groups)]
    return [
        _Window(
            _kind(group),
            group[0].at,
            end,
            max(healed.get(each.number, end) for each in group),
            _until_whole(group, healed, whole),
        )
        for group, end in zip(groups, ends, strict=True)
    ]


def _kind(group: Sequence[Struck]) -> str:
    kinds = [_of_one(each) for each in group]
    return kinds[0] if len(kinds) == 1 else "two at a time"


def _of_one(fault: Struck) -> str:
    if fault.family == Family.REST:
        return Family.REST
    extent = f" {fault.extent}" if fault.extent else ""
    return f"{fault.family} {fault.victim.rpartition('-')[0]}{extent}"


def _until_whole(group: Sequence[Struck], healed: dict[int, float], whole: dict[int, float]) -> float | None:
    numbers = [each.number for each in group]
    if not all(number in healed and number in whole for number in numbers):
        return None
    return max(whole[number] for number in numbers) - max(healed[number] for number in numbers)


def _longest(times: Sequence[float], window: _Window, last: float, *, before: float | None = None) -> float:
    """Of the gaps whose middle is in the window, and one that is never over: a fault's begin before it and last into what follows.

    `before`: only those that begin before this time.
    """
    times = sorted(times)
    until = window.ends if before is None else before
    gaps = [
        after - start
        for start, after in pairwise(times)
        if start < until and window.begins < (start + after) / 2 <= window.ends
    ]
    if times[-1] < until:
        gaps.append(last - times[-1])
    return max(gaps, default=0.0)

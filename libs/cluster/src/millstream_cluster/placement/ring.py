"""Brokers by what they carry, for plans of very many replicas: the next one is found without looking at all of them."""

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import TypeAlias

Load: TypeAlias = tuple[int, ...]


class Ring:
    """Positions on a ring, each with a load.

    Invariant: `_levels` has every position once, under its load, sorted; `_order` has the loads that are there, sorted.
    """

    def __init__(self) -> None:
        self._loads: dict[int, Load] = {}
        self._levels: dict[Load, list[int]] = {}
        self._order: list[Load] = []

    def put(self, position: int, load: Load) -> None:
        """Give a position its load, whatever it had before."""
        self._take_out(position)
        self._loads[position] = load
        level = self._levels.get(load)
        if level is None:
            level = self._levels[load] = []
            insort(self._order, load)
        insort(level, position)

    def least(self, start: int, fits: Callable[[int], bool]) -> int | None:
        """The position with the least load that fits; among equals the first one at or behind `start`, round the ring."""
        for load in self._order:
            level = self._levels[load]
            first = bisect_left(level, start)
            for at in range(first, first + len(level)):
                position = level[at % len(level)]
                if fits(position):
                    return position
        return None

    def _take_out(self, position: int) -> None:
        load = self._loads.pop(position, None)
        if load is None:
            return
        level = self._levels[load]
        del level[bisect_left(level, position)]
        if not level:
            del self._levels[load]
            del self._order[bisect_left(self._order, load)]

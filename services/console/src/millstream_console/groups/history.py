"""How far groups were behind, in a ring: so many samples of so many groups, and no more. Pure."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_client.groups import Lag

SAMPLES = 360
GROUPS_MAX = 500
"""Of how many groups a round tells, and how many are remembered."""
MOST = (1 << 63) - 1
"""What a place in a ring can hold: anybody may commit any offset, and sums of them are bigger."""
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Sums:
    """Of all partitions of a group, at one time."""

    lag: int
    committed: int
    end: int

    @classmethod
    def of(cls, lags: Sequence[Lag]) -> "Sums":
        known = [each for each in lags if each.committed is not None]
        return cls(
            min(sum(each.lag or 0 for each in known), MOST),
            min(sum(each.committed or 0 for each in known), MOST),
            min(sum(each.end for each in known), MOST),
        )


class History:
    """Invariant: every group's ring is as long as that of the times, and what is at one place in them was seen at that time."""

    def __init__(self, samples: int = SAMPLES) -> None:
        self._samples = samples
        self._times = array("q", [UNKNOWN]) * samples
        self._rings: dict[str, tuple[array[int], array[int], array[int]]] = {}
        self._next = 0

    def add(self, now_ms: int, seen: Mapping[str, Sums]) -> None:
        """A round; groups of which nothing was seen in the whole ring are forgotten, and beyond the bound those unseen for longest."""
        at, self._next = self._next, (self._next + 1) % self._samples
        self._times[at] = now_ms
        for group_id in seen.keys() - self._rings.keys():
            empty = array("q", [UNKNOWN]) * self._samples
            self._rings[group_id] = (empty, empty[:], empty[:])
        for group_id, (lag, committed, end) in list(self._rings.items()):
            sums = seen.get(group_id)
            lag[at], committed[at], end[at] = (UNKNOWN,) * 3 if sums is None else (sums.lag, sums.committed, sums.end)
            if sums is not None:
                self._rings[group_id] = self._rings.pop(group_id)
            elif all(each == UNKNOWN for each in lag):
                del self._rings[group_id]
        while len(self._rings) > GROUPS_MAX:
            del self._rings[next(iter(self._rings))]

    def of(self, group_id: str) -> list[tuple[int, Sums]]:
        """By time, the oldest first."""
        rings = self._rings.get(group_id)
        if rings is None:
            return []
        places = [(self._next + step) % self._samples for step in range(self._samples)]
        return [
            (self._times[at], Sums(rings[0][at], rings[1][at], rings[2][at]))
            for at in places
            if rings[0][at] != UNKNOWN
        ]

    def __len__(self) -> int:
        return len(self._rings)

"""How much is said of what anybody can cause: from each only so many a second, and repetitions once a minute with their number.

What is left out is counted, and said with what comes next.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from millstream_wire.late_dataclass import dataclass

T = TypeVar("T", bound=Hashable)

FOLD_S = 60.0
WINDOW_S = 1.0
SOURCES_MAX = 1_000
"""Who has an allowance of his own within a second; all others share one."""
FOLDS_MAX = 1_000


@dataclass(slots=True)
class _Fold:
    until_s: float
    repeated: int = 0


class Restraint(Generic[T]):
    """Invariant: folds are in the order in which they end; at most as many as there may be, and SOURCES_MAX counts."""

    def __init__(self, per_source: int, in_all: int, *, folds_max: int = FOLDS_MAX) -> None:
        """Of what is said in a second; `folds_max`: how many different events are watched for repetitions."""
        self._per_source = per_source
        self._in_all = in_all
        self._folds_max = folds_max
        self._since_s = 0.0
        self._said: dict[Hashable, int] = {}
        self._said_in_all = 0
        self._left_out = 0
        self._folds: dict[T, _Fold] = {}

    def note(self, event: T, source: Hashable, now_s: float) -> int | None:
        """How many were left out before this one, if it is to be said now; else None."""
        fold = self._folds.get(event)
        if fold is not None:
            fold.repeated += 1
            return None
        if not self._allows(source, now_s):
            self._left_out += 1
            return None
        if len(self._folds) < self._folds_max:
            self._folds[event] = _Fold(now_s + FOLD_S)
        left_out, self._left_out = self._left_out, 0
        return left_out

    def due(self, now_s: float) -> list[tuple[T, int]]:
        """What was repeated, and how often, of all whose minute is over."""
        over = []
        for event, fold in self._folds.items():
            if fold.until_s > now_s:
                break
            over.append((event, fold.repeated))
        for event, _ in over:
            del self._folds[event]
        return [(event, repeated) for event, repeated in over if repeated]

    @property
    def next_due_s(self) -> float | None:
        return next((fold.until_s for fold in self._folds.values()), None)

    def _allows(self, source: Hashable, now_s: float) -> bool:
        if now_s - self._since_s >= WINDOW_S:
            self._since_s, self._said_in_all = now_s, 0
            self._said.clear()
        if source not in self._said and len(self._said) >= SOURCES_MAX:
            source = None
        said = self._said.get(source, 0)
        if said >= self._per_source or self._said_in_all >= self._in_all:
            return False
        self._said[source] = said + 1
        self._said_in_all += 1
        return True

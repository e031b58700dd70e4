"""What happened in a simulation, in order: the same seed tells the same story, and its digest proves it."""

import hashlib
from collections import Counter
from collections.abc import Callable

from millstream_simulation.situations import SITUATIONS, TOLD


class Violation(Exception):
    """The system broke a promise."""


class Story:
    def __init__(self, now_s: Callable[[], float], *, tell: Callable[[str], None] | None = None) -> None:
        self._now_s = now_s
        self._tell = tell
        self._digest = hashlib.sha256()
        self.events = 0
        self.counts: dict[str, int] = {}
        self.situations: Counter[str] = Counter()

    def add(self, event: str, **fields: object) -> None:
        """One event; fields must not depend on the machine, the clock or object addresses."""
        line = " ".join([f"{self._now_s():.6f}", event, *(f"{key}={value}" for key, value in fields.items())])
        self._digest.update(line.encode() + b"\n")
        self.events += 1
        self.counts[event] = self.counts.get(event, 0) + 1
        if event in TOLD:
            self.note(TOLD[event])
        if self._tell is not None:
            self._tell(line)

    def note(self, situation: str) -> None:
        """The run has been in this situation (situations.py); no part of the story."""
        assert situation in SITUATIONS, situation
        self.situations[situation] += 1

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]

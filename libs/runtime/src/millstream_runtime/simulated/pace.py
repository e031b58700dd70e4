"""How long things take that are not the network: a turn of the event loop, work in a thread.

While they take no time, nothing can happen between one step of a task and the next, and orders that hold by chance hold always.
"""

import random

TURN_S = 50e-6
LONG_TURN_PROBABILITY = 0.02
LONG_TURN_S = 3e-3
"""A collection of garbage, a batch that unfolds to much: whatever comes meanwhile comes at once."""
WORK_S = 1e-3
STALL_PROBABILITY = 0.01
STALL_S = 0.2
"""A disk that takes its time."""


class Pace:
    """No time at all."""

    def turn_s(self) -> float:
        return 0.0

    def work_s(self) -> float:
        """Until a thread has done its work, and again until the event loop hears of it."""
        return 0.0


INSTANT = Pace()


class NodePace:
    """Of one host: how long each thing that happens there keeps it busy, beside what the event loop takes anyway."""

    def __init__(self, seed_random: random.Random) -> None:
        self.slowness_s = 0.0
        """On average; trouble changes it while the run goes on."""
        self._random = seed_random

    def busy_s(self) -> float:
        return self._random.expovariate(1 / self.slowness_s) if self.slowness_s else 0.0


class SeededPace(Pace):
    def __init__(self, seed_random: random.Random) -> None:
        self._random = seed_random

    def turn_s(self) -> float:
        is_long = self._random.random() < LONG_TURN_PROBABILITY
        return self._random.uniform(0, LONG_TURN_S) if is_long else self._random.expovariate(1 / TURN_S)

    def work_s(self) -> float:
        stalls = self._random.random() < STALL_PROBABILITY
        return self._random.uniform(0, STALL_S if stalls else WORK_S)

"""Runs the purgatory: operations that wait are resumed by progress or by one timer at the earliest deadline.

Who makes progress resumes nobody itself: the event loop calls each waiter in its next turn, on a stack of its own. What goes
wrong for one waiter then reaches neither whoever appended nor the other waiters.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from millstream_broker.core.reads.purgatory import Place, Purgatory, Waiting
from millstream_runtime.world import World

Resume: TypeAlias = Callable[[bool], None]
"""Answers one waiting client, whatever there is if the argument is true; if it is false, offsets moved, and the client may
wait on if it still lacks something. What goes wrong in it is that client's to be told: nobody above it could.
"""


class Delays:
    """Feed, resume, re-arm; a resumed operation answers its client itself."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._purgatory: Purgatory[Resume] = Purgatory()
        self._timer: asyncio.TimerHandle | None = None
        self._armed_ms = 0
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._purgatory)

    def wait(self, resume: Resume, places: Mapping[Place, int], *, missing: int, wait_ms: int) -> Waiting[Resume]:
        """Wait for `missing` bytes behind the offsets of these places, for a change there, or for the time to be over."""
        deadline_ms = self._world.monotonic_ms() + wait_ms
        waiting = self._purgatory.add(resume, places, missing=missing, deadline_ms=deadline_ms)
        self._arm()
        return waiting

    def cancel(self, waiting: Waiting[Resume]) -> None:
        self._purgatory.cancel(waiting)

    def reached(self, place: Place, offset: int, size: int) -> None:
        _resume_soon(self._purgatory.reached(place, offset, size), is_final=False)

    def changed(self, place: Place) -> None:
        _resume_soon(self._purgatory.changed(place), is_final=True)

    def close(self) -> None:
        """Resume everybody: the broker stops, and an early answer is better than none."""
        self.is_closed = True
        _resume_soon(self._purgatory.drain(), is_final=True)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        _resume_soon(self._purgatory.expired(self._world.monotonic_ms()), is_final=True)
        self._arm()

    def _arm(self) -> None:
        deadline_ms = self._purgatory.deadline_ms()
        if deadline_ms is None or (self._timer is not None and self._armed_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._armed_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._world.monotonic_ms())
        # The clocks tick in milliseconds: a timer may fire up to one early, and would then be set once more.
        self._timer = asyncio.get_running_loop().call_later((delay_ms + 1) / 1000, self._expire)


def _resume_soon(ready: Sequence[Resume], *, is_final: bool) -> None:
    for resume in ready:
        asyncio.get_running_loop().call_soon(resume, is_final)

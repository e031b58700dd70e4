"""An event loop on real sockets whose clock can be moved: what is due on the way happens, in order, and nobody waits for it.

The way is made of leaps. A timer that is there when a leap begins goes off at its time, to the millisecond, with all that follows from it
(bytes between two sockets of this loop, work in threads) before the next: an answer comes before the time-out of who waits for it.
What is set within a leap goes off at its end at the soonest, so that who looks ten times a second whether there is something to do does
not look millions of times in a week; it is late, as in a process that was busy.
"""

import asyncio
import contextvars
import selectors
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Any

from millstream.testing.host.owner import OwnedTimer, Owner, Watch
from millstream_wire.late_dataclass import dataclass

LEAPS = 200
"""Of one move, about."""
LEAPS_MAX = 2_000
PUNCTUAL = "millstream_coordinator."
"""Whose alarms are never late: a coordinator would take it for a pause of its own, and begin its members' sessions anew."""
DEFERRED = 1e-6
"""Timers that are set within a leap keep their order: a second between them becomes a microsecond."""
PATIENCE_S = 0.05
"""How long clients that are never quiet hold a step up."""
THREADS_LOOK_S = 0.001


@dataclass(slots=True)
class _Move:
    until_s: float
    leap_s: float
    leap_begin_s: float
    leap_end_s: float
    done: "asyncio.Future[None]"
    stepped_at: float
    """By the operating system's clock."""
    due: deque[OwnedTimer] = field(default_factory=deque)
    """What the last step has made due, in order."""

    def leap(self, begin_s: float) -> None:
        self.leap_begin_s = begin_s
        self.leap_end_s = min(self.until_s, begin_s + self.leap_s)

    def deferred(self, when: float) -> float:
        if when >= self.leap_end_s:
            return when
        return self.leap_end_s + max(0.0, when - self.leap_begin_s) * DEFERRED


class MovingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._move: _Move | None = None
        self._threads = 0
        self.owner: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)
        """The node that the current context belongs to."""
        self._watches: dict[tuple[int, bool], Watch] = {}
        super().__init__(_Selector(self._select))
        self.set_task_factory(_owned_task)  # type: ignore[arg-type]

    # ---- the clock ----

    def time(self) -> float:
        return time.monotonic() + self._ahead_s

    @property
    def ahead_s(self) -> float:
        """How far the clock has been moved by now."""
        return self._ahead_s

    async def move(self, by_s: float, *, leap_max_s: float) -> None:
        """Let this much time pass at once, in leaps of about a two-hundredth of it and, if these are not too many, `leap_max_s`."""
        assert self._move is None, "one at a time"
        done = self.create_future()
        leap_s = max(by_s / LEAPS_MAX, min(by_s / LEAPS, leap_max_s))
        now_s = self.time()
        self._move = _Move(now_s + by_s, leap_s, now_s, now_s, done, time.monotonic())
        self._move.leap(now_s)
        await done

    def _select(self, wait: Callable[[float | None], list[Any]], timeout: float | None) -> list[Any]:
        move = self._move
        if move is None or (timeout is not None and timeout <= 0):
            return wait(timeout)
        events = wait(0)
        is_busy = bool(events) and time.monotonic() - move.stepped_at < PATIENCE_S
        if is_busy:
            return events
        if self._threads and not events:
            return wait(THREADS_LOOK_S)
        if move.due:
            timer = move.due.popleft()
            self.call_soon(timer.run, context=timer.context)
        else:
            self._step(move, timeout)
        return events

    def on_due(self, timer: OwnedTimer) -> None:
        if self._move is None:
            timer.run()
        else:
            self._move.due.append(timer)

    def _step(self, move: _Move, timeout: float | None) -> None:
        """To the next timer, or to the end if there is none before it."""
        now_s = self.time()
        move.stepped_at = time.monotonic()
        if now_s >= move.until_s:
            self._move = None
            self.call_soon(_set_done, move.done)
            return
        next_s = move.until_s if timeout is None else min(move.until_s, now_s + max(timeout, 0.0))
        self._ahead_s += next_s - now_s
        if next_s >= move.leap_end_s:
            move.leap(next_s)

    # ---- what belongs to a node ----

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        context = context if context is not None else contextvars.copy_context()
        if self._move is not None and not _is_punctual(callback):
            when = self._move.deferred(when)
        timer = OwnedTimer(context.get(self.owner), callback, args, context, self.on_due)
        timer.handle = super().call_at(when, timer, context=context)
        return timer.handle

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        self._watch(fd, callback, args, writes=False)

    def add_writer(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        self._watch(fd, callback, args, writes=True)

    def remove_reader(self, fd: Any) -> bool:
        return self._unwatch(fd, writes=False)

    def remove_writer(self, fd: Any) -> bool:
        return self._unwatch(fd, writes=True)

    def _watch(self, fd: Any, callback: Callable[..., Any], args: tuple[Any, ...], *, writes: bool) -> None:
        owner = self.owner.get()
        number = fd if isinstance(fd, int) else fd.fileno()
        begin, end = (
            (super().add_writer, super().remove_writer) if writes else (super().add_reader, super().remove_reader)
        )
        if owner is None:
            begin(number, callback, *args)
            return
        self._unwatch(number, writes=writes)
        watch = Watch(owner, number, callback, args, begin, end, is_delayed=not writes)
        self._watches[number, writes] = watch
        owner.watches.add(watch)
        watch.update()

    def _unwatch(self, fd: Any, *, writes: bool) -> bool:
        number = fd if isinstance(fd, int) else fd.fileno()
        watch = self._watches.pop((number, writes), None)
        if watch is None:
            return super().remove_writer(number) if writes else super().remove_reader(number)
        watch.owner.watches.discard(watch)
        watch.end()
        return True

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, future: "asyncio.Future[Any]") -> None:
        self._threads -= 1


class _Selector(selectors.DefaultSelector):
    def __init__(self, choose: Callable[..., list[Any]]) -> None:
        super().__init__()
        self._choose = choose

    def select(self, timeout: float | None = None) -> list[Any]:
        return self._choose(super().select, timeout)


def _is_punctual(callback: Callable[..., Any]) -> bool:
    return (getattr(callback, "__module__", None) or "").startswith(PUNCTUAL)


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _owned_task(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> "asyncio.Task[Any]":
    assert isinstance(loop, MovingLoop)
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    owner = loop.owner.get()
    if owner is not None:
        owner.own(task)
    return task

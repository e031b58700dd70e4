"""An asyncio loop in virtual time: real coroutines, no waiting, the clock jumps to the next timer.

A turn of the loop takes as long as its pace says: what comes from outside meanwhile is seen between two steps of a task.

Two runs with the same seed do the same things in the same order. asyncio keeps tasks in sets, whose order follows object
addresses; tasks and futures made here hash by number instead. Threads and real sockets are refused.
"""

import asyncio
import contextvars
import itertools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from millstream_runtime.simulated.pace import INSTANT, Pace


class Deadlock(RuntimeError):
    """Nothing is scheduled and nothing can ever happen."""


class Owner(Protocol):
    """A simulated process: it owns what is scheduled from its context."""

    killed: bool

    @property
    def rate(self) -> float:
        """Seconds of its clock in one second of virtual time."""

    def held_until(self) -> float | None:
        """While the process is stopped (SIGSTOP): when what is due now may happen; each call a little later."""

    def own(self, number: int, task: "asyncio.Task[Any]") -> None: ...


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, pace: Pace = INSTANT) -> None:
        self.pace = pace
        self._virtual_now = 0.0
        self._numbers = itertools.count()
        self.watch: Callable[[Owner], None] = _nobody
        """Told of a process when what came to it last, and all that followed at once, has been done."""
        self.owner: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)
        """The process that the current context belongs to."""
        super().__init__(_NoWaitSelector(self._advance))
        self.set_task_factory(_numbered_task)  # type: ignore[arg-type]

    def time(self) -> float:
        return self._virtual_now

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        owner = self.owner.get() if context is None else context.get(self.owner)
        if owner is None:
            return super().call_at(when, callback, *args, context=context)
        now = self._virtual_now
        return self._guarded(owner, now + (when - now) / owner.rate, callback, args, context)

    def happen_at(self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context) -> None:
        """What comes from outside: it happens in its process's context, and its process's clock has no part in when."""
        owner = context.get(self.owner)
        if owner is None:
            super().call_at(when, callback, *args, context=context)
        else:
            self._guarded(owner, when, callback, args, context)

    def _guarded(
        self,
        owner: Owner,
        when: float,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> asyncio.TimerHandle:
        guarded = _Guarded(self, owner, callback, args)
        guarded.handle = super().call_at(when, guarded, context=context)
        return guarded.handle

    def call_held(self, when: float, guarded: "_Guarded") -> None:
        super().call_at(when, guarded)

    def create_future(self) -> asyncio.Future[Any]:
        future = _NumberedFuture(loop=self)
        future.number = next(self._numbers)
        return future

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        raise RuntimeError("a thread in the simulation: use world.run_blocking")

    def next_number(self) -> int:
        return next(self._numbers)

    def _advance(self, timeout: float | None) -> None:
        if timeout is None:
            raise Deadlock("nothing is scheduled")
        self._virtual_now += timeout if timeout > 0 else self.pace.turn_s()


def _nobody(owner: Owner) -> None:
    return


def virtual_loop() -> VirtualTimeLoop:
    """The one that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop


class _NoWaitSelector(selectors.DefaultSelector):
    """Waits for nothing: a timeout is time that passes."""

    def __init__(self, advance: Callable[[float | None], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._advance(timeout)
        return []


class _NumberedTask(asyncio.Task[Any]):
    def __init__(self, coro: Coroutine[Any, Any, Any], *, number: int, **options: Any) -> None:
        self.number = number  # first: making a task puts it into a set of all tasks
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number


class _NumberedFuture(asyncio.Future[Any]):
    number = -1

    def __hash__(self) -> int:
        return self.number


def _numbered_task(
    loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    assert isinstance(loop, VirtualTimeLoop)
    task = _NumberedTask(coro, number=loop.next_number(), loop=loop, **options)
    owner = loop.owner.get()
    if owner is not None:
        owner.own(task.number, task)
    return task


class _Guarded:
    """A timer of a process: nothing happens once it is dead, and nothing while it is stopped."""

    handle: asyncio.TimerHandle

    def __init__(
        self, loop: VirtualTimeLoop, owner: Owner, callback: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        self._loop = loop
        self._owner = owner
        self._callback = callback
        self._args = args

    def __call__(self) -> None:
        if self._owner.killed or self.handle.cancelled():
            return
        until = self._owner.held_until()
        if until is not None:
            self._loop.call_held(until, self)
        else:
            self._loop.watch(self._owner)  # what came before: the steps of its tasks have had their turns by now
            self._callback(*self._args)

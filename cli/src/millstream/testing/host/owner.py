"""What one node does in a loop that it shares with others: its tasks, its timers, the sockets it waits for.

So that one node can be killed, stopped for a while, cut off or slowed down, and the others notice what they would notice of a process.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from typing import Any

ROUNDS_TO_DIE = 1000


class Owner:
    """`is_stopped`: as by SIGSTOP. `is_cut`: no byte comes or goes. Both leave connections open."""

    def __init__(self) -> None:
        self.is_dead = False
        self.is_stopped = False
        self.is_cut = False
        self.delay_s = 0.0
        """How much later the node sees what arrives."""
        self.watches: set[Watch] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._due: deque[OwnedTimer] = deque()
        """Timers that went off while it was stopped; each was made by a step of it, so there are no more than it waits for."""

    @property
    def is_deaf(self) -> bool:
        return self.is_stopped or self.is_cut

    def own(self, task: "asyncio.Task[Any]") -> None:
        if self.is_dead:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        self.is_stopped = True
        self._update_watches()

    def go_on(self) -> None:
        self.is_stopped = False
        loop = asyncio.get_running_loop()
        while self._due:
            timer = self._due.popleft()
            loop.call_soon(timer.run, context=timer.context)
        self._update_watches()

    def cut(self) -> None:
        self.is_cut = True
        self._update_watches()

    def mend(self) -> None:
        self.is_cut = False
        self._update_watches()

    def postpone(self, timer: "OwnedTimer") -> None:
        self._due.append(timer)

    async def die(self) -> None:
        """Nothing of it runs on. Its sockets are its network's to close, first."""
        self.is_dead = True
        self._due.clear()
        for _ in range(ROUNDS_TO_DIE):
            if not self._tasks:
                return
            for task in list(self._tasks):
                task.cancel()
            await asyncio.sleep(0)
        raise RuntimeError(f"a node does not die: {list(self._tasks)}")

    def _update_watches(self) -> None:
        for watch in list(self.watches):
            watch.update()


class OwnedTimer:
    """A timer, maybe of a node: nothing happens once that is dead, and nothing while it is stopped."""

    handle: asyncio.TimerHandle

    def __init__(
        self,
        owner: Owner | None,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: contextvars.Context,
        on_due: Callable[["OwnedTimer"], None],
    ) -> None:
        """`on_due` calls `run`, now or later."""
        self._owner = owner
        self._callback = callback
        self._args = args
        self.context = context
        self._on_due = on_due

    def __call__(self) -> None:
        self._on_due(self)

    def run(self) -> None:
        owner = self._owner
        if self.handle.cancelled() or (owner is not None and owner.is_dead):
            return
        if owner is not None and owner.is_stopped:
            owner.postpone(self)
        else:
            self._callback(*self._args)


class Watch:
    """A socket that a node waits for. It is not looked at while the node is deaf; what arrives may be seen later."""

    def __init__(
        self,
        owner: Owner,
        fd: int,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        begin: Callable[..., Any],
        end: Callable[[int], bool],
        *,
        is_delayed: bool,
    ) -> None:
        self.owner = owner
        self._fd = fd
        self._callback = callback
        self._args = args
        self._begin = begin
        self._end = end
        self._is_delayed = is_delayed
        self._context = contextvars.copy_context()
        self._looks = False
        self._is_over = False
        self._later: asyncio.TimerHandle | None = None

    def update(self) -> None:
        """Look, or look away."""
        wanted = not self._is_over and not self.owner.is_deaf and self._later is None
        if wanted and not self._looks:
            self._looks = True
            self._context.run(self._begin, self._fd, self._on_ready)
        elif not wanted and self._looks:
            self._looks = False
            self._end(self._fd)

    def end(self) -> None:
        self._is_over = True
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self.update()

    def _on_ready(self) -> None:
        if not self._is_delayed or self.owner.delay_s <= 0:
            self._callback(*self._args)
            return
        self._later = asyncio.get_running_loop().call_later(self.owner.delay_s, self._deliver)
        self.update()

    def _deliver(self) -> None:
        self._later = None
        self.update()
        if not self._is_over:
            self._callback(*self._args)

"""Hosts a decide/apply machine on a journal: takes commands one by one, answers once what they saw is committed.

    epoch = await replicated.execute(lambda groups, now_ms: groups.join(command, now_ms))

Decisions are applied at once, so the next command sees them; replies (reads too) wait until everything applied before is
committed. If an append fails the state is not to be trusted any more: every waiting and later command raises NotCommitted,
and the owner builds a new Replicated from the journal. The law: replaying the journal gives the live state.

A command that writes nothing is answered from memory, which is right only as long as nobody else owns the state. Where that
is not certain, `barrier` names records that are appended with it: that the journal took them proves that it still is ours.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from millstream_cluster.decision import Change, Decision


class Machine(Protocol):
    def apply(self, record: Any) -> None:
        """The only writer of what is replicated; a decision's changes write what is kept in memory only."""


M = TypeVar("M", bound=Machine)
R = TypeVar("R")
T = TypeVar("T")
R_contra = TypeVar("R_contra", contravariant=True)


class Journal(Protocol[R_contra]):
    async def append(self, commands: Sequence[tuple[R_contra, ...]]) -> None:
        """Commit the records of these commands, in order, each command's atomically; or raise.

        Called again only after it returned. Unknown outcomes are the journal's to resolve; if it cannot, it raises.
        """


class NotCommitted(Exception):
    """The command's outcome is unknown or it was not taken: this host no longer owns the state."""


class Replicated(Generic[M, R]):
    """Invariant: one append is in flight at most; what is applied but not committed is in `_in_flight` and `_waiting`."""

    def __init__(
        self,
        machine: M,
        journal: Journal[R],
        now_ms: Callable[[], int],
        *,
        waiting_max: int = 10_000,
        barrier: Callable[[], tuple[R, ...]] = tuple,
    ) -> None:
        """`barrier`: the records that prove the ownership of the state, or nothing while it is certain anyway."""
        self.machine = machine
        """For looking at (metrics, deadlines); what it says may not be committed yet."""
        self._journal = journal
        self._now_ms = now_ms
        self._waiting_max = waiting_max
        self._barrier = barrier
        self._waiting: deque[tuple[R, ...]] = deque()
        self._applied = 0
        self._committed = 0
        self._barriers: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._append: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._failed = asyncio.Event()

    @property
    def failure(self) -> Exception | None:
        """Why this host takes no more commands; None while it does."""
        return self._failure

    async def wait_failed(self) -> Exception:
        """Return the reason once an append failed or `stop` was called."""
        await self._failed.wait()
        assert self._failure is not None
        return self._failure

    async def execute(self, decide: Callable[[M, int], Decision[R, T]]) -> T:
        """Decide, apply, wait until committed, return the reply. The wait may be cancelled, the commit goes on."""
        if self._failure is not None:
            raise NotCommitted(str(self._failure)) from self._failure
        if len(self._barriers) >= self._waiting_max:
            raise NotCommitted(f"{self._waiting_max} commands wait already")
        decision = self._decide(decide)
        self._take(decision.records or self._barrier(), decision.then)
        if self._committed < self._applied:
            await self._commit_of(self._applied)
        return decision.reply

    def answer(self, decide: Callable[[M, int], Decision[R, T]]) -> T:
        """As `execute`, for a decision that writes no records, at once: what was seen may not be committed yet."""
        if self._failure is not None:
            raise NotCommitted(str(self._failure)) from self._failure
        decision = self._decide(decide)
        assert not decision.records
        self._take((), decision.then)
        return decision.reply

    @property
    def is_certain(self) -> bool:
        """Whether what the machine says may be told without asking the journal."""
        return self._failure is None and not self._barrier()

    async def confirm(self) -> None:
        """Return once it is certain that the state was still ours when this was called; NotCommitted if it was not."""
        if not self.is_certain:
            await self.execute(lambda _machine, _now_ms: Decision((), None))

    def refuse(self, reason: Exception) -> None:
        """From this moment on take no commands; those that wait raise NotCommitted. `stop` has to follow."""
        self._fail(reason)

    async def stop(self, reason: Exception) -> None:
        """Take no more commands; those that wait raise NotCommitted; an append under way is cancelled."""
        self._fail(reason)
        append, self._append = self._append, None
        if append is not None:
            append.cancel()
            await asyncio.gather(append, return_exceptions=True)

    def _decide(self, decide: Callable[[M, int], Decision[R, T]]) -> Decision[R, T]:
        return decide(self.machine, self._now_ms())

    def _take(self, records: tuple[R, ...], changes: tuple[Change, ...]) -> None:
        try:
            for record in records:
                self.machine.apply(record)
            for change in changes:
                change.make(self.machine)
        except Exception as error:
            self._fail(error)  # half applied: the machine is not what the journal says
            raise
        if not records:
            return
        self._waiting.append(records)
        self._applied += 1
        if self._append is None:
            self._append = asyncio.get_running_loop().create_task(self._append_all())

    def _commit_of(self, number: int) -> asyncio.Future[None]:
        barrier: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._barriers.append((number, barrier))
        return barrier

    async def _append_all(self) -> None:
        while self._waiting and self._failure is None:
            batch = tuple(self._waiting)
            self._waiting.clear()
            try:
                await self._journal.append(batch)
            except Exception as error:
                self._fail(error)
                return
            self._committed += len(batch)
            self._release()
        self._append = None

    def _release(self) -> None:
        while self._barriers and self._barriers[0][0] <= self._committed:
            _, barrier = self._barriers.popleft()
            if not barrier.done():  # its command's caller may have gone away
                barrier.set_result(None)

    def _fail(self, reason: Exception) -> None:
        if self._failure is not None:
            return
        self._failure = reason
        self._failed.set()
        self._waiting.clear()
        while self._barriers:
            _, barrier = self._barriers.popleft()
            if not barrier.done():
                error = NotCommitted(str(reason) or type(reason).__name__)
                error.__cause__ = reason
                barrier.set_exception(error)

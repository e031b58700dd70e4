"""Hosts a decide/apply machine on a journal: takes commands one by one, answers once what they saw is committed.

    epoch = await replicated.execute(lambda groups, now_ms: groups.join(command, now_ms))

Decisions are applied at once, so the next command sees them; replies (reads too) wait until everything applied before is
committed. If an append fails the state is not to be trusted any more: every waiting and later command raises NotCommitted,
and the owner builds a new Replicated from the journal. The law: replaying the journal gives the live state.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from millstream_cluster.decision import Decision

M = TypeVar("M", bound="Machine")  # type: ignore[type-arg]
R = TypeVar("R")
T = TypeVar("T")
R_contra = TypeVar("R_contra", contravariant=True)


class Machine(Protocol[R_contra]):
    def apply(self, record: R_contra) -> None:
        """The only writer of the machine's state."""


class Journal(Protocol[R_contra]):
    async def append(self, commands: Sequence[tuple[R_contra, ...]]) -> None:
        """Commit the records of these commands, in order, each command's atomically; or raise.

        Called again only after it returned. Unknown outcomes are the journal's to resolve; if it cannot, it raises.
        """


class NotCommitted(Exception):
    """The command's outcome is unknown or it was not taken: this host no longer owns the state."""


class Replicated(Generic[M, R]):
    def __init__(
        self, machine: M, journal: Journal[R], now_ms: Callable[[], int], *, waiting_max: int = 10_000
    ) -> None:
        self.machine = machine
        """For looking at (metrics, deadlines); what it says may not be committed yet."""
        self.failed: asyncio.Future[Exception]
        """Done, with the reason, once an append failed or `stop` was called."""

    async def execute(self, decide: Callable[[M, int], Decision[R, T]]) -> T:
        """Decide, apply, wait until committed, return the reply. The wait may be cancelled, the commit goes on."""
        raise NotCommitted("not written yet")

    async def stop(self, reason: Exception) -> None:
        """Take no more commands; those that wait raise NotCommitted; an append under way is cancelled."""

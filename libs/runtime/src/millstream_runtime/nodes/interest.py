"""Ends waits for another node's answer once the metadata says that this node is not the one to wait for any more.

A node that is paused or cut off answers nothing and closes nothing: who waits for it would wait for the whole time-out, although
everybody else has long known who took its place.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

_AT_ONCE: Final = 0.0
"""By the loop's clock, which began there or later."""


class NoLonger(Exception):
    """What was waited for is to be asked of somebody else by now; whether this one executed it is unknown."""


class Interest:
    """Invariant: whoever is inside `only_while` is looked at with each change of the metadata."""

    def __init__(self) -> None:
        self._waits: dict[asyncio.Timeout, Callable[[], bool]] = {}

    def on_change(self) -> None:
        """The metadata changed."""
        for patience, still in self._waits.items():
            if not still() and not patience.expired():
                patience.reschedule(_AT_ONCE)

    @asynccontextmanager
    async def only_while(self, still: Callable[[], bool]) -> AsyncIterator[None]:
        """Go on with what is inside as long as `still` says so; then NoLonger."""
        if not still():
            raise NoLonger
        try:
            async with asyncio.timeout(None) as patience:
                with self._noted(patience, still):
                    yield
        except TimeoutError:
            if patience.expired():
                raise NoLonger from None
            raise

    @contextmanager
    def _noted(self, patience: asyncio.Timeout, still: Callable[[], bool]) -> Iterator[None]:
        self._waits[patience] = still
        try:
            yield
        finally:
            del self._waits[patience]

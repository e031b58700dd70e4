"""Lists of all resources of a kind, for whoever is told of one that changed: a thousand that change at once need not be listed a thousand times."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from millstream_operator.kube.objects import KubernetesError
from millstream_operator.plan.scope import Body

Outcome = list[Body] | KubernetesError | OSError


@dataclass(slots=True)
class _Kind:
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    begun: int = 0
    """How many lists so far."""
    number: int = 0
    """Which of them `last` is."""
    last: Outcome = field(default_factory=list)


class SharedLists:
    """Nobody gets a list that began before it was asked for, and one at a time is under way."""

    def __init__(self, read: Callable[[str], Awaitable[list[Body]]]) -> None:
        self._read = read
        self._kinds: dict[str, _Kind] = {}

    async def of(self, kind: str) -> list[Body]:
        """Raises KubernetesError, OSError: they are everybody's who asked before it was known."""
        kept = self._kinds.setdefault(kind, _Kind())
        begun_before = kept.begun
        async with kept.turn:
            if kept.number <= begun_before:
                kept.begun = number = kept.begun + 1
                kept.last = await self._outcome(kind)
                kept.number = number
            found = kept.last
        if isinstance(found, list):
            return found
        raise found.with_traceback(None)

    async def _outcome(self, kind: str) -> Outcome:
        try:
            return await self._read(kind)
        except (KubernetesError, OSError) as error:
            return error

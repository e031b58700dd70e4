"""All resources of a kind, listed once for whoever asks meanwhile: a thousand that are applied together are not listed a thousand times."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from millstream_operator.plan.scope import Body


class Listings:
    """Nobody gets a list that was begun before he asked: whatever is older than what he asks about is in it."""

    def __init__(self, lists: Callable[[str], Awaitable[Sequence[Body]]]) -> None:
        self._lists = lists
        self._asked = 0
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._listed: dict[str, tuple[int, Sequence[Body]]] = {}
        """By kind: how often anybody had asked when the last list was begun, and what was found."""

    async def of(self, kind: str) -> Sequence[Body]:
        """Raises KubernetesError."""
        self._asked += 1
        mine = self._asked
        async with self._turns[kind]:
            begun, bodies = self._listed.get(kind, (0, ()))
            if begun < mine:
                begun = self._asked
                bodies = await self._lists(kind)
                self._listed[kind] = begun, bodies
            return bodies

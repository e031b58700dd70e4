"""Tasks that live as long as an `async with` block: cancelled at its end, and if one crashes the block ends with its error.

As asyncio's TaskGroup, but what the block itself raises leaves it as it is, not inside a group.
"""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any


class Background:
    __slots__ = ("_group", "_tasks")

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Background":
        await self._group.__aenter__()
        return self

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)

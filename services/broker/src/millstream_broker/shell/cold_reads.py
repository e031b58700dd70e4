"""Answers that need what may be on the disk only: tried at once, and where something is missing again after a thread has loaded it.

Finding where batches begin and end is what this is for; the batches themselves are the network's to load while it sends.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from millstream_log import ColdRead
from millstream_runtime.world import World

LOADS_MAX = 16
"""A lookup takes an index and a stretch of batches or two; who still misses something then waits for it on the loop."""

T = TypeVar("T")


def once_loaded(world: World, attempt: Callable[[list[ColdRead] | None], T]) -> T | Coroutine[Any, Any, T]:
    """`attempt` notes what is missing in the list that it gets, or waits for it if it gets none."""
    cold: list[ColdRead] = []
    answer = attempt(cold)
    return _once_loaded(world, attempt, cold) if cold else answer


async def _once_loaded(world: World, attempt: Callable[[list[ColdRead] | None], T], cold: list[ColdRead]) -> T:
    for _ in range(LOADS_MAX):
        await world.run_blocking(partial(_load, tuple(cold)))
        cold.clear()
        answer = attempt(cold)
        if not cold:
            return answer
    return attempt(None)


def _load(cold: tuple[ColdRead, ...]) -> None:
    for each in cold:
        each.load()

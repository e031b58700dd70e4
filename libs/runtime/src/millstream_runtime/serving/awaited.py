"""A deferred reply for who can wait for futures only."""

import asyncio
from typing import Any

from millstream_runtime.serving.context import Completion, Deferred


def awaited(deferred: Deferred) -> "asyncio.Future[Any]":
    """Its answer; who cancels this cancels that."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    deferred.bind(_OfFuture(future))
    future.add_done_callback(lambda _: deferred.cancel())
    return future


class _OfFuture(Completion):
    def __init__(self, future: "asyncio.Future[Any]") -> None:
        self._future = future

    def complete(self, reply: Any) -> None:
        if not self._future.done():
            self._future.set_result(reply)

    def fail(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)

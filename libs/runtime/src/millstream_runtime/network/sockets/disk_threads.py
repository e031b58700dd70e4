"""Threads that wait for the disk in place of the event loop.

Of their own, because the loop's default ones also flush logs and compact: a reader would wait behind those.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

THREADS = 8


class DiskThreads:
    """Started when they are first needed. Each caller has one piece of work here at a time, so what waits is bounded."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="disk")

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        """Run `work` in a thread, then `then` on the loop with what it raised."""

        def tell(done: "asyncio.Future[None]") -> None:
            if not done.cancelled():
                then(done.exception())

        asyncio.get_running_loop().run_in_executor(self._executor, work).add_done_callback(tell)

import asyncio
import inspect
import threading
from pathlib import Path

from millstream_broker.shell.cold_reads import LOADS_MAX, once_loaded
from millstream_log import ColdRead
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.world import RealWorld


class OnDisk(ColdRead):
    """What says when, and where, it was loaded."""

    def __init__(self, loaded: list[str]) -> None:
        super().__init__(Path("x"), 0, 1)
        self._loaded = loaded

    def load(self) -> None:
        self._loaded.append(threading.current_thread().name)


WORLD = RealWorld(SocketNetwork())


def test_what_is_in_memory_is_answered_at_once() -> None:
    assert once_loaded(WORLD, lambda cold: "answer") == "answer"


def test_what_is_missing_is_loaded_in_a_thread_before_the_next_attempt() -> None:
    loaded: list[str] = []

    def attempt(cold: list[ColdRead] | None) -> str:
        assert cold == []
        if len(loaded) < 4:
            cold += [OnDisk(loaded), OnDisk(loaded)]
        return f"answer after {len(loaded)}"

    later = once_loaded(WORLD, attempt)
    assert inspect.iscoroutine(later)
    assert asyncio.run(later) == "answer after 4"
    assert threading.main_thread().name not in loaded


def test_what_never_stays_in_memory_is_waited_for_in_the_end() -> None:
    loaded: list[str] = []

    def attempt(cold: list[ColdRead] | None) -> str:
        if cold is None:
            return "waited"
        cold.append(OnDisk(loaded))
        return "discarded"

    later = once_loaded(WORLD, attempt)
    assert inspect.iscoroutine(later)
    assert asyncio.run(later) == "waited"
    assert len(loaded) == LOADS_MAX

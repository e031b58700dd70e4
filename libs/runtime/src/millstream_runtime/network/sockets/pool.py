"""Buffers for frames that do not fit the shared receive buffer: reused, and bounded over all connections."""

from collections import deque
from collections.abc import Callable

SMALLEST_BYTES = 1024
SHED_INTERVAL_MS = 1_000


class BufferPool:
    """Invariant: `take` hands out at most `in_use_max_bytes` (or one buffer); free ones take at most `free_max_bytes`."""

    def __init__(self, *, in_use_max_bytes: int = 256 * 1024 * 1024, free_max_bytes: int = 32 * 1024 * 1024) -> None:
        self._in_use_max_bytes = in_use_max_bytes
        self._free_max_bytes = free_max_bytes
        self._in_use_bytes = 0
        self._free_bytes = 0
        self._free: dict[int, list[bytearray]] = {}
        self._shed_at_ms = -SHED_INTERVAL_MS
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self, size: int, *, held_bytes: int = 0) -> bytearray | None:
        """A buffer of at least `size` bytes, or None when too much is in use: then `wait` and try again.

        Who alone holds what is in use waits for nobody.
        """
        rounded = _rounded(size)
        if self._in_use_bytes > held_bytes and self._in_use_bytes + rounded > self._in_use_max_bytes:
            return None
        return self.take_anyway(size)

    def take_anyway(self, size: int) -> bytearray:
        """For bytes that are here already and must go somewhere."""
        rounded = _rounded(size)
        self._in_use_bytes += rounded
        free = self._free.get(rounded)
        if free:
            self._free_bytes -= rounded
            return free.pop()
        return bytearray(rounded)

    def give_back(self, buffer: bytearray) -> None:
        size = len(buffer)
        self._in_use_bytes -= size
        if self._free_bytes + size <= self._free_max_bytes:
            self._free_bytes += size
            self._free.setdefault(size, []).append(buffer)
        if self._waiting:
            self._waiting.popleft()()

    def must_shed(self, now_ms: int) -> bool:
        """Whether who asks has to give its buffer up, because others wait for one: one at a time, then look again."""
        if not self._waiting or now_ms - self._shed_at_ms < SHED_INTERVAL_MS:
            return False
        self._shed_at_ms = now_ms
        return True

    def wait(self, retry: Callable[[], None]) -> None:
        """Call `retry` once some buffer came back (it may have to wait again)."""
        self._waiting.append(retry)

    def stop_waiting(self, retry: Callable[[], None]) -> None:
        """Or a buffer that comes back would be offered to nobody."""
        self._waiting.remove(retry)


def _rounded(size: int) -> int:
    return max(SMALLEST_BYTES, 1 << (size - 1).bit_length())

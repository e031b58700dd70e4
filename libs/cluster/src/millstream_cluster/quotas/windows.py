"""The windows over which use is counted, and the rate of what was used in them."""

from collections import deque
from dataclasses import dataclass

THROTTLE_MAX_MS = (1 << 31) - 1
"""What a response has room for."""


@dataclass(frozen=True, slots=True)
class Windows:
    """`samples` windows of `window_ms`, the last of them under way."""

    samples: int = 11
    """quota.window.num"""
    window_ms: int = 1_000
    """quota.window.size.seconds"""

    @property
    def burst_ms(self) -> int:
        """What this time brings may be used at once, as long as it was not used before."""
        return (self.samples - 1) * self.window_ms

    @property
    def span_ms(self) -> int:
        """After this time without use everything is as if there had never been any."""
        return self.samples * self.window_ms


class WindowedRate:
    """Use a second over the windows; windows in which nobody was there yet count as silent, so that a first burst is no rate."""

    __slots__ = ("_samples", "_samples_max", "_total", "_window_ms")

    def __init__(self, windows: Windows) -> None:
        self._samples_max = windows.samples
        self._window_ms = windows.window_ms
        self._samples: deque[list[int]] = deque()  # [begin_ms, amount]
        self._total = 0

    def record(self, amount: int, now_ms: int) -> None:
        self._expire(now_ms)
        if not self._samples or now_ms - self._samples[-1][0] >= self._window_ms:
            self._samples.append([now_ms, 0])
        self._samples[-1][1] += amount
        self._total += amount

    def throttle_ms(self, per_s: float, now_ms: int) -> int:
        """How long nothing may be used until the rate is back at its bound."""
        self._expire(now_ms)
        if not self._samples:
            return 0
        elapsed_ms = now_ms - self._samples[0][0]
        missing = self._samples_max - 1 - elapsed_ms // self._window_ms
        span_ms = elapsed_ms + max(0, missing) * self._window_ms
        over = self._total * 1000 / span_ms / per_s - 1
        return round(min(over * span_ms, THROTTLE_MAX_MS)) if over > 0 else 0

    def _expire(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._samples_max * self._window_ms
        while self._samples and self._samples[0][0] <= oldest_ms:
            self._total -= self._samples.popleft()[1]

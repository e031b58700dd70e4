"""A clock of a host: it is not what the others say, and not as fast."""

EPOCH_MS = 1_700_000_000_000
"""The wall clock when virtual time is 0, on a host whose clock is right."""


class Clock:
    """Of one host: its processes come and go, the clock stays. Timers of its processes follow `rate` too."""

    def __init__(self, *, skew_ms: int = 0, rate: float = 1.0) -> None:
        """`rate`: seconds of this clock in one second of virtual time."""
        self.rate = rate
        self._skew_ms = skew_ms

    def now_ms(self, time_s: float) -> int:
        """The wall clock, at a virtual time."""
        return EPOCH_MS + self._skew_ms + int(time_s * self.rate * 1000)

    def monotonic_s(self, time_s: float) -> float:
        return time_s * self.rate

    def jump(self, by_ms: int) -> None:
        """Somebody sets the wall clock; the monotonic one goes on as it was."""
        self._skew_ms += by_ms

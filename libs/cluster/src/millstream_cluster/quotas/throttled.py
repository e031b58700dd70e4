"""How often, and for how long, somebody who was over a quota had to wait."""


class Throttled:
    __slots__ = ("key", "times", "total_ms")

    def __init__(self, key: str) -> None:
        self.key = key
        """Of the quota."""
        self.times = 0
        self.total_ms = 0

    def note(self, throttle_ms: int) -> None:
        self.times += 1
        self.total_ms += throttle_ms

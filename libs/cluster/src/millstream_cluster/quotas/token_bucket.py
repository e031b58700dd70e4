"""Tokens that come back at a rate: for what is used seldom and in lots, where a rate over windows would hold back for too long (KIP-599)."""

from millstream_cluster.quotas.windows import THROTTLE_MAX_MS, Windows


class TokenBucket:
    """Full at first, and never fuller than what the windows bring; it may be overdrawn, once."""

    __slots__ = ("_burst_ms", "_refilled_ms", "_tokens")

    def __init__(self, windows: Windows, now_ms: int) -> None:
        self._burst_ms = windows.burst_ms
        self._tokens = float("inf")
        self._refilled_ms = now_ms

    def take(self, tokens: int, per_s: float, now_ms: int) -> None:
        """Take them, whether or not there are so many."""
        self._refill(per_s, now_ms)
        self._tokens -= tokens

    def throttle_ms(self, per_s: float, now_ms: int) -> int:
        """How long until nothing is overdrawn."""
        self._refill(per_s, now_ms)
        return round(min(-self._tokens / per_s * 1000, THROTTLE_MAX_MS)) if self._tokens < 0 else 0

    def _refill(self, per_s: float, now_ms: int) -> None:
        came_back = per_s * (now_ms - self._refilled_ms) / 1000
        self._tokens = min(per_s * self._burst_ms / 1000, self._tokens + came_back)
        self._refilled_ms = now_ms

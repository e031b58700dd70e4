"""TLS handshakes under way: how many there may be on a listener, for how long, and how much of the loop's time they get.

A handshake costs as much processor time as thousands of requests. They are carried out one after the other, and whoever has
something else to do on the loop gets his turn after a few of them. Who connects and never finishes is put out by those that come.
"""

import asyncio
import time
from collections import deque
from typing import Protocol

from millstream_runtime.network.links import OnFailedHandshake

_now = time.monotonic  # the loop's clock stands still while it runs callbacks

HANDSHAKE_TIMEOUT_MS = 10_000
UNDER_WAY_MAX = 512
SLICE_SECONDS = 0.002


class HandshakeFailed(ConnectionError):
    """The server was reached, and one side does not want to go on with the other; the message says which."""


class Shaking(Protocol):
    """A connection whose handshake is under way."""

    def shake_hands(self) -> None:
        """Do the next step, if there is one."""

    def give_way(self) -> None:
        """Close: too many others are under way."""

    def close(self, reason: str) -> None: ...


class Turns:
    """One per event loop. Invariant: a connection waits here at most once."""

    def __init__(self) -> None:
        self._waiting: deque[Shaking] = deque()
        self._due = False

    def ask(self, channel: Shaking) -> None:
        """Have it do its next step when it is its turn."""
        self._waiting.append(channel)
        self._arrange()

    def _arrange(self) -> None:
        if self._waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._take_some)

    def _take_some(self) -> None:
        self._due = False
        until = _now() + SLICE_SECONDS
        try:
            while self._waiting:
                self._waiting.popleft().shake_hands()
                if _now() >= until:
                    break
        finally:
            self._arrange()


class Handshakes:
    """Those of one listener. Invariant: at most UNDER_WAY_MAX are under way; the oldest gives way."""

    def __init__(self, on_failed: OnFailedHandshake, most: int = UNDER_WAY_MAX) -> None:
        self.on_failed = on_failed
        """Told of each that failed."""
        self._most = most
        self._under_way: dict[Shaking, None] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, channel: Shaking) -> None:
        if len(self._under_way) >= self._most:
            next(iter(self._under_way)).give_way()
        self._under_way[channel] = None

    def end(self, channel: Shaking) -> None:
        self._under_way.pop(channel, None)

    def close(self) -> None:
        """The listener is gone: nobody is there to take them in."""
        for channel in list(self._under_way):
            channel.close("nobody listens any more")

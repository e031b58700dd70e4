"""One connection to another node as its requests see it: they are sent in order, and each answer goes to whoever asked.

Without a task or a future of its own, because followers ask for every record that is written.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from librt.strings import read_i32_be
from mypy_extensions import i64, mypyc_attr

from millstream_runtime.network.channel import Channel, ChannelUser
from millstream_runtime.network.frames import Frame, Part

_CORRELATION_BYTES = 4
_CORRELATION_IDS = 0x7FFFFFFF


@mypyc_attr(allow_interpreted_subclasses=True)
class Asker(ABC):
    """Who waits for one answer; exactly one of these is called, once."""

    @abstractmethod
    def on_answer(self, frame: Frame) -> None:
        """The whole answer, correlation id included; a view is valid until this returns."""

    @abstractmethod
    def on_no_answer(self, reason: str) -> None:
        """The connection is gone; whether the request was executed is unknown."""


class _Expected:
    __slots__ = ("asker", "correlation_id")

    def __init__(self, correlation_id: i64, asker: Asker) -> None:
        self.correlation_id = correlation_id
        self.asker = asker


@mypyc_attr(allow_interpreted_subclasses=True)
class Pipeline(ChannelUser):
    """Invariant: answers come in the order of `_expected`; any other one ends the connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._expected: deque[_Expected] = deque()
        self._correlation_id: i64 = 0
        self.closed_reason: str | None = None
        self._closes_when_idle = False
        self.retires_at_ms: int | None = None
        """When the login is about to end."""

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def closed(self) -> bool:
        return self.closed_reason is not None

    def retires(self, now_ms: int) -> bool:
        """Whether the login is about to end: whoever has more to ask had better connect anew."""
        return self.retires_at_ms is not None and now_ms >= self.retires_at_ms

    def next_id(self) -> int:
        """The correlation id of the next request."""
        self._correlation_id = (self._correlation_id + 1) & _CORRELATION_IDS
        return self._correlation_id

    def ask(self, correlation_id: i64, parts: Sequence[Part], asker: Asker) -> None:
        """Send a whole request, on a connection that is not closed."""
        self._expected.append(_Expected(correlation_id, asker))
        self._channel.send(parts)

    def ask_small(self, correlation_id: i64, request: bytes, asker: Asker) -> None:
        """As `ask`, for few bytes."""
        self._expected.append(_Expected(correlation_id, asker))
        self._channel.send_small(request)

    def drop(self, reason: str) -> None:
        """Close now; whoever still waits is told so."""
        self._channel.close(reason)

    def close_when_idle(self) -> None:
        """Ask nothing more; close once all is answered."""
        self._closes_when_idle = True
        if not self._expected:
            self._channel.close("its login is about to end")

    def on_frame(self, frame: Frame) -> None:
        expected = self._expected
        if len(frame) < _CORRELATION_BYTES or not expected or expected[0].correlation_id != _correlation_id(frame):
            self._channel.close("an answer that nobody waits for")
            return
        asker = expected.popleft().asker
        if self._closes_when_idle and not expected:
            self._channel.close("its login is about to end")
        asker.on_answer(frame)

    def on_closed(self, reason: str) -> None:
        if self.closed_reason is None:
            self.closed_reason = reason
        while self._expected:
            self._expected.popleft().asker.on_no_answer(reason)


def _correlation_id(frame: Frame) -> i64:
    found: int = read_i32_be(frame if isinstance(frame, bytes) else bytes(frame[:_CORRELATION_BYTES]), 0)
    return found

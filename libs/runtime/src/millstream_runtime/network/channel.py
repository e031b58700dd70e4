"""One connection as both its sides see it: frames are sent into a channel, and its user gets those that arrive.

Classes to inherit from, because every request goes through here: compiled, a call through one is a jump, through a Protocol a search by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from millstream_runtime.network.frames import Frame, Part


@mypyc_attr(allow_interpreted_subclasses=True)
class Channel(ABC):
    """One side of a connection. `send` never blocks; what it queues is bounded by the one who calls it."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        """The other side, as `host:port`."""
        self.certificate: bytes | None = None
        """The other side's, in DER, if it showed one and TLS has verified it."""

    @abstractmethod
    def send(self, parts: Sequence[Part]) -> None:
        """Queue one frame: the channel adds the length, sends file slices by sendfile and releases them, sent or not."""

    @abstractmethod
    def send_small(self, content: bytes) -> None:
        """Queue one frame of few bytes."""

    @abstractmethod
    def pause_reading(self) -> None: ...

    @abstractmethod
    def resume_reading(self) -> None: ...

    @abstractmethod
    def limit_frames(self, frame_max_bytes: int) -> None:
        """Close where a longer frame than this arrives, from the next one on."""

    @abstractmethod
    def close(self, reason: str = "closed here") -> None:
        """Close now, unsent bytes are dropped; `on_closed` is called once, later or now."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ChannelUser(ABC):
    """Who handles what arrives on a channel."""

    @abstractmethod
    def on_frame(self, frame: Frame) -> None:
        """Handle one frame (without its length)."""

    @abstractmethod
    def on_closed(self, reason: str) -> None:
        """The channel is gone, whoever closed it; called exactly once."""

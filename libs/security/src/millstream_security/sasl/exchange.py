"""What a mechanism's server side says to each token of a client: go on, this is who it is, or no."""

from abc import ABC, abstractmethod
from typing import TypeAlias

from millstream_cluster.principal import Principal
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Challenge:
    """The client has to answer this."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    principal: Principal
    content: bytes = b""
    """The last the client is told."""
    expires_at_ms: int | None = None
    """When what the client showed ends, on the wall clock; None: never."""
    by_token: bool = False
    """By a delegation token, which may not make others."""


class SaslRefused(Exception):
    """The login failed. The message is for the client: it never says which part of name and password was wrong."""


Step: TypeAlias = Challenge | Accepted


class ServerExchange(ABC):
    """One login of one client by one mechanism; after a refusal or success it takes nothing more."""

    user: str | None = None
    """Who the client says it is, once it has said so: whatever it likes, until it is accepted."""

    @abstractmethod
    def step(self, token: bytes, now_ms: int) -> Step:
        """Take the client's next token, or raise SaslRefused."""


class ClientExchange(ABC):
    """The other side of it."""

    @abstractmethod
    def first(self) -> bytes:
        """What the client begins with."""

    @abstractmethod
    def step(self, challenge: bytes) -> bytes | None:
        """The answer to what the server says; None when there is nothing more to say. Raise SaslRefused if the server lies."""

"""PLAIN (RFC 4616): name and password as they are; for listeners with TLS below, as SASL_PLAINTEXT shows them to the network."""

import hashlib
import hmac
from collections.abc import Callable

from millstream_cluster.principal import USER, Principal
from millstream_security.sasl.exchange import Accepted, ClientExchange, SaslRefused, ServerExchange

PLAIN = "PLAIN"
WRONG = "Authentication failed: Invalid username or password"

PasswordOf = Callable[[str], str | None]

_PARTS = 3
_NOBODYS = "\x00"
"""In place of the password of who does not exist: no token can contain it."""


class PlainServer(ServerExchange):
    def __init__(self, password_of: PasswordOf) -> None:
        self._password_of = password_of

    def step(self, token: bytes, now_ms: int) -> Accepted:
        user, password = _read(token)
        self.user = user
        expected = self._password_of(user)
        # Digests are of one length whatever the passwords are, so that the time says nothing of them.
        same = hmac.compare_digest(_digest(_NOBODYS if expected is None else expected), _digest(password))
        if not same:
            raise SaslRefused(WRONG)
        return Accepted(Principal(USER, user))


class PlainClient(ClientExchange):
    def __init__(self, user: str, password: str) -> None:
        self._token = b"\0".join((b"", user.encode(), password.encode()))

    def first(self) -> bytes:
        return self._token

    def step(self, challenge: bytes) -> None:
        if challenge:
            raise SaslRefused("PLAIN: the server asks for more than there is")


def _read(token: bytes) -> tuple[str, str]:
    try:
        parts = token.decode().split("\0")
    except UnicodeDecodeError:
        raise SaslRefused("Authentication failed: the token is not UTF-8") from None
    if len(parts) != _PARTS:
        raise SaslRefused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
    authorized, user, password = parts
    if not user:
        raise SaslRefused("Authentication failed: username not specified")
    if not password:
        raise SaslRefused("Authentication failed: password not specified")
    if authorized not in ("", user):
        raise SaslRefused("Authentication failed: Client requested an authorization id that is different from username")
    return user, password


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()

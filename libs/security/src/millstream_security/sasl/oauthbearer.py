"""OAUTHBEARER (RFC 7628): a bearer token, checked by whoever is given the exchange; no token is looked up anywhere."""

import json
import re
from collections.abc import Callable

from millstream_cluster.principal import USER, Principal
from millstream_security.sasl.exchange import Accepted, Challenge, ClientExchange, SaslRefused, ServerExchange, Step
from millstream_wire.late_dataclass import dataclass

OAUTHBEARER = "OAUTHBEARER"

_FIRST = re.compile(r"n,(?:a=(?P<authorized>[^,\x01]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x20-\x7e\t\r\n]*\x01)*)\x01")
_BEARER = re.compile(r"(?i:bearer) +(?P<token>[-._~+/A-Za-z0-9]+=*)")
_GOODBYE = b"\x01"


class InvalidToken(Exception):
    """A token that says nothing for its bearer: altered, over, of another issuer or for somebody else."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token that holds says."""

    subject: str
    expires_at_ms: int


CheckToken = Callable[[str, int], Claims]
"""Raises InvalidToken; the number is the wall clock's."""


class OAuthBearerServer(ServerExchange):
    def __init__(self, check: CheckToken) -> None:
        self._check = check
        self._refused = False

    def step(self, token: bytes, now_ms: int) -> Step:
        if self._refused:
            raise SaslRefused("Authentication failed: the bearer token was refused")
        authorized, bearer = _read(token)
        self.user = authorized or None
        try:
            claims = self._check(bearer, now_ms)
        except InvalidToken:
            self._refused = True  # the client says that it has read this before it is told to go
            return Challenge(json.dumps({"status": "invalid_token"}, separators=(",", ":")).encode())
        if authorized not in ("", claims.subject):
            raise SaslRefused(
                "Authentication failed: Client requested an authorization id that is different from the token's principal name"
            )
        return Accepted(Principal(USER, claims.subject), expires_at_ms=claims.expires_at_ms)


class OAuthBearerClient(ClientExchange):
    def __init__(self, token: str) -> None:
        self._token = token

    def first(self) -> bytes:
        return f"n,,\x01auth=Bearer {self._token}\x01\x01".encode()

    def step(self, challenge: bytes) -> bytes | None:
        return _GOODBYE if challenge else None


def _read(token: bytes) -> tuple[str, str]:
    """Whom the client wants to be, and its bearer token."""
    try:
        found = _FIRST.fullmatch(token.decode())
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise SaslRefused("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise SaslRefused("Invalid OAUTHBEARER client first message: 'auth' is not 'Bearer' and a token")
    return found["authorized"] or "", bearer["token"]

"""Real logins in any order, by password and by delegation token, again and by others, with any message altered on its way.

Whatever is altered or left out: nobody becomes somebody whose secret he does not have, and nobody becomes another.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from test_scram import ACCOUNTS, OWNER, SHA_256

from millstream_cluster.principal import Principal
from millstream_security.sasl.authentication import (
    Answer,
    AnswerAndClose,
    Authentication,
    Close,
    Fail,
    LoggedIn,
    PassOn,
    Stage,
)
from millstream_security.sasl.exchange import SaslRefused, ServerExchange
from millstream_security.sasl.plain import PlainServer
from millstream_security.sasl.rules import SaslRules
from millstream_security.sasl.scram_client import ScramClient
from millstream_security.sasl.scram_server import ScramServer
from millstream_wire.api import ApiKey
from millstream_wire.codec import DecodeError, decode, encode
from millstream_wire.header import RequestHeader, decode_response_header, encode_request_header
from millstream_wire.messages import (
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
)
from millstream_wire.schema import Request

WAYS: dict[str, tuple[Callable[[], ScramClient | None], Principal | None]] = {
    "alice": (lambda: ScramClient(SHA_256, "alice", "wonder", "clt", {}), Principal("User", "alice")),
    "token": (lambda: ScramClient(SHA_256, "token", "hmac", "clt", {"tokenauth": "true"}), OWNER),
    "a wrong password": (lambda: ScramClient(SHA_256, "alice", "x", "clt", {}), None),
    "a token's id as a user": (lambda: ScramClient(SHA_256, "token", "hmac", "clt", {}), None),
    "a user as a token's id": (lambda: ScramClient(SHA_256, "alice", "wonder", "clt", {"tokenauth": "true"}), None),
    "carol in plain": (lambda: None, Principal("User", "carol")),
}
"""By which a client means to log in, and as whom the server takes one who does it right."""
CAROL = b"\0carol\0secret"


def framed(request: Request[Any], version: int) -> bytes:
    key = ApiKey(request.api_key)
    return encode_request_header(RequestHeader(key, version, 1, "c")) + encode(request, version)


def exchange_of(mechanism: str) -> ServerExchange:
    if mechanism == "PLAIN":
        return PlainServer(lambda user: "secret" if user == "carol" else None)
    return ScramServer(SHA_256, ACCOUNTS, "srv")


alterations = st.one_of(
    st.none(),
    st.tuples(st.just("flip"), st.integers(0, 400), st.integers(1, 255)),
    st.tuples(st.just("cut"), st.integers(0, 400), st.just(0)),
    st.tuples(st.just("insert"), st.integers(0, 400), st.integers(0, 255)),
)
Alteration = tuple[str, int, int] | None


def altered(content: bytes, alteration: Alteration) -> bytes:
    if alteration is None or not content:
        return content
    kind, place, value = alteration
    at = place % len(content)
    if kind == "flip":
        return content[:at] + bytes([content[at] ^ value]) + content[at + 1 :]
    return content[:at] if kind == "cut" else content[:at] + bytes([value]) + content[at:]


attempts = st.tuples(
    st.sampled_from([*WAYS]),
    st.sampled_from([0, 1]),
    st.lists(alterations, min_size=3, max_size=3),
    st.sampled_from(["nothing", "nothing", "expire", "another request"]),
)


class Course:
    def __init__(self, reauthenticate_ms: int) -> None:
        rules = SaslRules(("PLAIN", "SCRAM-SHA-256"), reauthenticate_ms)
        self.login = Authentication(rules, exchange_of)
        self.known: Principal | None = None

    def say(self, frame: bytes) -> Any:
        verdict = self.login.take(frame, 0)
        self.login.check()
        assert isinstance(verdict, PassOn | Answer | AnswerAndClose | Fail | Close | LoggedIn)
        assert self.known in (None, self.login.principal), "nobody becomes another"
        if not isinstance(verdict, LoggedIn):
            assert self.login.principal == self.known, "nobody becomes somebody without the last message"
        return verdict

    def attempt(self, way: str, handshake_version: int, changes: list[Alteration]) -> None:
        make, principal = WAYS[way]
        client = make()
        mechanism = "PLAIN" if client is None else "SCRAM-SHA-256"
        self.say(altered(framed(SaslHandshakeRequest(mechanism=mechanism), handshake_version), changes[0]))
        token: bytes | None = CAROL if client is None else client.first()
        for change in changes[1:]:
            if token is None or self.login.stage is Stage.OVER:
                return
            whole = token if handshake_version == 0 else framed(SaslAuthenticateRequest(auth_bytes=token), 2)
            verdict = self.say(altered(whole, change))
            if isinstance(verdict, LoggedIn):
                # Header fields that nobody checks may be altered, as may what stands for the client's id.
                assert principal is not None, "who does not have the secret is nobody"
                assert verdict.accepted.principal == principal
                assert verdict.accepted.by_token == (way == "token")
                self.known = principal
                return
            if not isinstance(verdict, Answer) or client is None:
                return
            challenge = verdict.content if handshake_version == 0 else token_of(verdict.content)
            try:
                token = client.step(challenge)
            except SaslRefused:  # the client sees that somebody altered it
                return


def token_of(content: bytes) -> bytes:
    _, position = decode_response_header(ApiKey.SASL_AUTHENTICATE, 2, content)
    try:
        return bytes(decode(SaslAuthenticateResponse, 2, content, position).auth_bytes)
    except DecodeError:  # the answer is to what the alteration made of the request
        return b""


@given(st.lists(attempts, min_size=1, max_size=4), st.sampled_from([0, 1_000]))
def test_an_altered_login_makes_nobody_somebody_else(course: list[Any], reauthenticate_ms: int) -> None:
    play = Course(reauthenticate_ms)
    for way, version, changes, between in course:
        play.attempt(way, version, changes)
        if between == "expire":
            play.login.expire()
        elif between == "another request" and play.login.stage is not Stage.OVER:
            verdict = play.say(framed(MetadataRequest(topics=[]), 12))
            if isinstance(verdict, PassOn):
                assert play.known is not None, "nobody asks for anything who has not logged in"
                assert play.login.is_open


def test_each_way_as_it_is_meant() -> None:
    """The rule above is no comfort if nobody gets in at all."""
    for way, (_, principal) in WAYS.items():
        for version in (0, 1):
            play = Course(1_000)
            play.attempt(way, version, [None, None, None])
            assert play.known == principal, way
            if principal is not None:
                play.attempt(way, version, [None, None, None])
                assert play.login.is_open, f"{way} again"

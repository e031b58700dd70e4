"""The login of one connection as states: which frames are answered before it, what they lead to, and when it is over.

                 SaslHandshake v1 -> CHOSEN --- SaslAuthenticate ---+
    UNKNOWN ----<                                                   >--> KNOWN -- a handshake, if the login ends --> as UNKNOWN
                 SaslHandshake v0 -> BARE ------ bare tokens -------+

Whatever is not due ends the connection. Pure: what has to be done is the verdict, and the one who carries it out has the clock.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, TypeAlias

from millstream_cluster.principal import Principal
from millstream_security.sasl.exchange import Accepted, SaslRefused, ServerExchange, Step
from millstream_security.sasl.rules import SaslRules
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import DecodeError, decode, encode
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.header import encode_response_header, read_request_header
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

BARE_TOKENS_VERSION = 0
"""Of SaslHandshake: what follows are tokens without any header."""


@dataclass(frozen=True, slots=True)
class PassOn:
    """An ordinary request: let it be handled."""


@dataclass(frozen=True, slots=True)
class Answer:
    content: bytes


@dataclass(frozen=True, slots=True)
class AnswerAndClose:
    content: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The login failed: after the delay, say so if there is a way to, and close."""

    content: bytes | None
    reason: str
    mechanism: str
    user: str | None = None
    """Who the client said it was, if it came to that."""


@dataclass(frozen=True, slots=True)
class Close:
    reason: str


@dataclass(frozen=True, slots=True)
class LoggedIn:
    content: bytes
    accepted: Accepted
    mechanism: str
    lifetime_ms: int | None
    """None: for as long as the connection."""
    again: bool
    """The client was known already."""


Verdict: TypeAlias = PassOn | Answer | AnswerAndClose | Fail | Close | LoggedIn


class Stage(Enum):
    UNKNOWN = auto()
    CHOSEN = auto()
    BARE = auto()
    KNOWN = auto()
    OVER = auto()
    """Failed or closed: nothing is taken any more."""


class Authentication:
    """Invariant: `principal` changes only from None to somebody; there is an exchange exactly in CHOSEN and BARE."""

    def __init__(self, rules: SaslRules, exchange_of: Callable[[str], ServerExchange]) -> None:
        self._rules = rules
        self._exchange_of = exchange_of
        self.stage = Stage.UNKNOWN
        self.principal: Principal | None = None
        self._mechanism = ""
        """Of the last login, or of the one under way."""
        self._exchange: ServerExchange | None = None
        self._has_met = False
        self._ends = False
        """Whether the login has an end, before which the client may log in again."""
        self._expired = False
        self._other_mechanism = False

    @property
    def is_open(self) -> bool:
        """Whether ordinary requests are handled without a look at them here."""
        return self.stage is Stage.KNOWN and not self._expired

    def expire(self) -> None:
        """The login is over; only another one helps."""
        self._expired = True

    def take(self, frame: bytes, now_ms: int) -> Verdict:
        verdict = self._take(frame, now_ms)
        if isinstance(verdict, (AnswerAndClose, Fail, Close)):
            self.stage, self._exchange = Stage.OVER, None
        return verdict

    def check(self) -> None:
        assert (self._exchange is not None) == (self.stage in (Stage.CHOSEN, Stage.BARE))
        assert self.stage is not Stage.KNOWN or self.principal is not None

    def _take(self, frame: bytes, now_ms: int) -> Verdict:
        match self.stage:
            case Stage.OVER:
                return Close("the connection is being closed")
            case Stage.BARE:
                return self._bare_token(frame, now_ms)
            case _:
                pass
        if len(frame) < 4:
            return Close("no request")
        key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big", signed=True)
        if self.stage is Stage.UNKNOWN and key == ApiKey.API_VERSIONS:
            return self._meet(version)
        try:
            return self._request(frame, now_ms)
        except DecodeError as error:
            return Close(f"not a request that is served before the login: {error}")

    def _meet(self, version: int) -> Verdict:
        if self._has_met:
            return Close("a second ApiVersions before the login")
        least, most = API[ApiKey.API_VERSIONS].versions
        self._has_met = least <= version <= most  # else it is told which versions there are, and asks again
        return PassOn()

    def _request(self, frame: bytes, now_ms: int) -> Verdict:
        number, version, correlation_id, _, position = read_request_header(frame)
        if number not in API:
            return Close(f"unknown api key {number}")
        key = ApiKey(number)
        asked = _Asked(key, version, correlation_id)
        if not API[key].versions[0] <= version <= API[key].versions[1]:
            return Close(f"{API[key].name} version {version} is not served")
        if self.stage is Stage.KNOWN:
            if self._expired and key is not ApiKey.SASL_HANDSHAKE:
                return Close("the session is over")
            if key not in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
                return PassOn()
            if key is ApiKey.SASL_AUTHENTICATE or not self._ends:
                return Answer(asked.answer(_out_of_place(key)))
        if self.stage is Stage.CHOSEN:
            if key is not ApiKey.SASL_AUTHENTICATE:
                request: Any = decode(API[key].request, version, frame, position)
                refusal = error_response(request, version, ErrorCode.ILLEGAL_SASL_STATE)
                return AnswerAndClose(asked.answer(refusal), f"{API[key].name} during the login")
            return self._authenticate(asked, decode(SaslAuthenticateRequest, version, frame, position), now_ms)
        if key is not ApiKey.SASL_HANDSHAKE:
            return Close(f"{API[key].name} before the login")
        return self._handshake(asked, decode(SaslHandshakeRequest, version, frame, position))

    def _handshake(self, asked: "_Asked", request: SaslHandshakeRequest) -> Verdict:
        offered = list(self._rules.mechanisms)
        if request.mechanism not in offered:
            if self.principal is not None:
                return Close("another login by a mechanism that is not enabled")
            refusal = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
            return AnswerAndClose(asked.answer(refusal), "a mechanism that is not enabled")
        self._other_mechanism = self.principal is not None and request.mechanism != self._mechanism
        if not self._other_mechanism:
            self._mechanism = request.mechanism
        self._exchange = self._exchange_of(request.mechanism)
        self.stage = Stage.BARE if asked.version == BARE_TOKENS_VERSION else Stage.CHOSEN
        return Answer(asked.answer(SaslHandshakeResponse(mechanisms=offered)))

    def _authenticate(self, asked: "_Asked", request: SaslAuthenticateRequest, now_ms: int) -> Verdict:
        if self._other_mechanism:
            return Close("another login by another mechanism")
        try:
            step = self._step(bytes(request.auth_bytes), now_ms)
        except SaslRefused as refused:
            refusal = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(refused)
            )
            return self._failed(asked.answer(refusal), refused)
        answer = SaslAuthenticateResponse(error_message="", auth_bytes=step.content)
        if not isinstance(step, Accepted):
            return Answer(asked.answer(answer))
        lifetime_ms = self._lifetime_ms(step, now_ms)
        answer.session_lifetime_ms = lifetime_ms or 0
        return self._known(asked.answer(answer), step, lifetime_ms)

    def _bare_token(self, token: bytes, now_ms: int) -> Verdict:
        if self._other_mechanism:
            return Close("another login by another mechanism")
        try:
            step = self._step(token, now_ms)
        except SaslRefused as refused:
            return self._failed(None, refused)
        if not isinstance(step, Accepted):
            return Answer(step.content)
        return self._known(step.content, step, self._lifetime_ms(step, now_ms))

    def _step(self, token: bytes, now_ms: int) -> Step:
        assert self._exchange is not None, "CHOSEN or BARE"
        step = self._exchange.step(token, now_ms)
        if isinstance(step, Accepted) and self.principal not in (None, step.principal):
            before, now = self.principal, step.principal
            assert before is not None
            raise SaslRefused(
                "Cannot change principals during re-authentication from "
                f"{before.type}.{before.name}: {now.type}.{now.name}"
            )
        return step

    def _failed(self, content: bytes | None, refused: SaslRefused) -> Fail:
        assert self._exchange is not None, "CHOSEN or BARE"
        return Fail(content, str(refused), self._mechanism, self._exchange.user)

    def _known(self, content: bytes, accepted: Accepted, lifetime_ms: int | None) -> LoggedIn:
        again = self.principal is not None
        self.stage, self._exchange, self.principal = Stage.KNOWN, None, accepted.principal
        self._ends, self._expired = lifetime_ms is not None, lifetime_ms == 0
        return LoggedIn(content, accepted, self._mechanism, lifetime_ms, again)

    def _lifetime_ms(self, accepted: Accepted, now_ms: int) -> int | None:
        bounds = [self._rules.reauthenticate_ms] if self._rules.reauthenticate_ms else []
        if accepted.expires_at_ms is not None:
            bounds.append(max(0, accepted.expires_at_ms - now_ms))
        return min(bounds, default=None)


@dataclass(frozen=True, slots=True)
class _Asked:
    key: ApiKey
    version: int
    correlation_id: int

    def answer(self, message: Any) -> bytes:
        return encode_response_header(self.key, self.version, self.correlation_id) + encode(message, self.version)


def _out_of_place(key: ApiKey) -> SaslHandshakeResponse | SaslAuthenticateResponse:
    """What Kafka says to a login on a connection where there is none to come."""
    if key is ApiKey.SASL_HANDSHAKE:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )

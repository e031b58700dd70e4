"""The states of a login: what is answered before it, what ends the connection, and when it is over."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from millstream_security.sasl.exchange import Accepted, Challenge, SaslRefused, ServerExchange, Step
from millstream_security.sasl.plain import PlainServer
from millstream_security.sasl.rules import SaslRules
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, decode_response_header, encode_request_header
from millstream_wire.messages import (
    ApiVersionsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

USERS = {"alice": "wonder", "bob": "builder"}
ALICE, BOB, WRONG = b"\0alice\0wonder", b"\0bob\0builder", b"\0alice\0wrong"


class TwoSteps(ServerExchange):
    """Asks once; what it is told then is the user, whose token ends at 5000."""

    def __init__(self) -> None:
        self._asked = False

    def step(self, token: bytes, now_ms: int) -> Step:
        if not self._asked:
            self._asked = True
            return Challenge(b"who?")
        if token == b"nobody":
            raise SaslRefused("no")
        return Accepted(Principal("User", token.decode()), b"bye", 5_000)


def exchange_of(mechanism: str) -> ServerExchange:
    return PlainServer(USERS.get) if mechanism == "PLAIN" else TwoSteps()


def fresh(**rules: Any) -> Authentication:
    return Authentication(SaslRules(("PLAIN", "TWO"), **rules), exchange_of)


def frame(message: Any, version: int | None = None) -> bytes:
    key = ApiKey(message.api_key)
    chosen = API[key].versions[1] if version is None else version
    return encode_request_header(RequestHeader(key, chosen, 7, "client")) + encode(message, chosen)


def read(content: bytes, kind: type[Any], version: int) -> Any:
    correlation_id, position = decode_response_header(kind.api_key, version, content)
    assert correlation_id == 7
    return decode(kind, version, content, position)


def handshake(mechanism: str = "PLAIN", version: int = 1) -> bytes:
    return frame(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token: bytes, version: int = 2) -> bytes:
    return frame(SaslAuthenticateRequest(auth_bytes=token), version)


def known(**rules: Any) -> Authentication:
    login = fresh(**rules)
    login.take(handshake(), 0)
    assert isinstance(login.take(authenticate(ALICE), 0), LoggedIn)
    return login


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_login_in_requests_of_their_own(version) -> None:
    login = fresh()
    assert login.take(frame(ApiVersionsRequest(client_software_name="x", client_software_version="1")), 0) == PassOn()
    answer = login.take(handshake(), 0)
    assert isinstance(answer, Answer)
    assert read(answer.content, SaslHandshakeResponse, 1) == SaslHandshakeResponse(mechanisms=["PLAIN", "TWO"])
    assert not login.is_open
    verdict = login.take(authenticate(ALICE, version), 0)
    assert isinstance(verdict, LoggedIn)
    assert read(verdict.content, SaslAuthenticateResponse, version) == SaslAuthenticateResponse(error_message="")
    assert (verdict.accepted.principal, verdict.lifetime_ms, verdict.again) == (Principal("User", "alice"), None, False)
    assert login.is_open


def test_a_login_with_bare_tokens() -> None:
    login = fresh()
    login.take(handshake("TWO", 0), 0)
    assert login.take(b"hello", 0) == Answer(b"who?")
    verdict = login.take(b"carol", 1_000)
    assert isinstance(verdict, LoggedIn)
    assert (verdict.content, verdict.lifetime_ms) == (b"bye", 4_000)


@pytest.mark.parametrize(("bare", "told"), [(True, False), (False, True)])
def test_a_wrong_password_is_told_only_where_there_is_a_place_for_it(bare, told) -> None:
    login = fresh()
    login.take(handshake(version=0 if bare else 1), 0)
    verdict = login.take(WRONG if bare else authenticate(WRONG), 0)
    assert isinstance(verdict, Fail)
    assert (verdict.content is not None) is told
    assert verdict.user == "alice"
    if verdict.content is not None:
        answer = read(verdict.content, SaslAuthenticateResponse, 2)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == "Authentication failed: Invalid username or password"
    assert isinstance(login.take(authenticate(ALICE), 0), Close), "there is no second try"


def test_other_requests_before_the_login_close_the_connection() -> None:
    for other in (frame(MetadataRequest()), authenticate(ALICE), b"", b"\0", b"\xff" * 40, handshake(version=1)[:9]):
        assert isinstance(fresh().take(other, 0), Close)


def test_versions_are_asked_for_once_unless_they_were_unknown() -> None:
    hello = frame(ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    unknown = hello[:2] + (99).to_bytes(2, "big") + hello[4:]
    login = fresh()
    assert [login.take(each, 0) for each in (unknown, hello)] == [PassOn(), PassOn()]
    assert isinstance(login.take(hello, 0), Close)


def test_an_unknown_mechanism_is_told_which_there_are_and_closed() -> None:
    for mechanism in ("plain", "GSSAPI", ""):
        verdict = fresh().take(handshake(mechanism), 0)
        assert isinstance(verdict, AnswerAndClose)
        answer = read(verdict.content, SaslHandshakeResponse, 1)
        assert answer == SaslHandshakeResponse(
            error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["PLAIN", "TWO"]
        )


@pytest.mark.parametrize("other", [MetadataRequest(), SaslHandshakeRequest(mechanism="PLAIN")])
def test_another_request_during_the_login_is_answered_in_its_own_form_and_closes(other) -> None:
    login = fresh()
    login.take(handshake(), 0)
    verdict = login.take(frame(other), 0)
    assert isinstance(verdict, AnswerAndClose)
    assert int(ErrorCode.ILLEGAL_SASL_STATE).to_bytes(2, "big") in verdict.content


def test_the_two_ways_to_send_tokens_do_not_mix() -> None:
    login = fresh()
    login.take(handshake(version=0), 0)
    verdict = login.take(authenticate(ALICE), 0)
    assert isinstance(verdict, Fail)
    assert verdict.user is None, "a request is no token, and names nobody"


@pytest.mark.parametrize("again", [handshake(), authenticate(ALICE)])
def test_without_an_end_of_the_login_another_is_out_of_place_and_the_connection_lives(again) -> None:
    login = known()
    verdict = login.take(again, 0)
    assert isinstance(verdict, Answer)
    assert int(ErrorCode.ILLEGAL_SASL_STATE).to_bytes(2, "big") in verdict.content
    assert login.is_open


def test_a_login_ends_with_what_was_shown_or_when_the_settings_say_so() -> None:
    login = fresh(reauthenticate_ms=3_000)
    login.take(handshake("TWO"), 0)
    login.take(authenticate(b""), 0)
    verdict = login.take(authenticate(b"carol"), 3_500)
    assert isinstance(verdict, LoggedIn)
    assert verdict.lifetime_ms == 1_500
    assert read(verdict.content, SaslAuthenticateResponse, 2).session_lifetime_ms == 1_500
    login.expire()
    assert not login.is_open
    assert isinstance(login.take(frame(ApiVersionsRequest()), 5_000), Close)


def test_what_has_ended_already_lets_in_to_a_login_that_is_over() -> None:
    login = fresh()
    login.take(handshake("TWO"), 0)
    login.take(authenticate(b""), 0)
    verdict = login.take(authenticate(b"carol"), 9_000)
    assert isinstance(verdict, LoggedIn)
    assert verdict.lifetime_ms == 0
    assert not login.is_open
    assert isinstance(login.take(frame(MetadataRequest()), 9_000), Close)


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize("bare", [False, True])
def test_whoever_logs_in_again_goes_on(expired, bare) -> None:
    login = known(reauthenticate_ms=1_000)
    if expired:
        login.expire()
    assert isinstance(login.take(handshake(version=0 if bare else 1), 0), Answer)
    assert not login.is_open
    verdict = login.take(ALICE if bare else authenticate(ALICE), 0)
    assert isinstance(verdict, LoggedIn)
    assert verdict.again
    assert login.is_open


def test_a_principal_does_not_change_when_it_logs_in_again() -> None:
    login = known(reauthenticate_ms=1_000)
    login.take(handshake(), 0)
    verdict = login.take(authenticate(BOB), 0)
    assert isinstance(verdict, Fail)
    assert "Cannot change principals during re-authentication from User.alice: User.bob" in verdict.reason
    assert verdict.user == "bob"
    assert login.principal == Principal("User", "alice")


def test_another_mechanism_the_second_time_closes() -> None:
    login = known(reauthenticate_ms=1_000)
    assert isinstance(login.take(handshake("TWO"), 0), Answer)
    assert isinstance(login.take(authenticate(b"alice"), 0), Close)
    login = known(reauthenticate_ms=1_000)
    assert isinstance(login.take(handshake("GSSAPI"), 0), Close)


def test_other_requests_wait_for_nothing_while_somebody_logs_in_again() -> None:
    login = known(reauthenticate_ms=1_000)
    login.take(handshake(), 0)
    assert isinstance(login.take(frame(MetadataRequest()), 0), AnswerAndClose)


FRAMES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            frame(ApiVersionsRequest()),
            frame(MetadataRequest()),
            *(handshake(mechanism, version) for mechanism in ("PLAIN", "TWO", "X") for version in (0, 1)),
            *(authenticate(token) for token in (ALICE, BOB, WRONG, b"carol", b"nobody")),
            ALICE,
            WRONG,
            b"carol",
        ]
    ),
    st.just(None),
)


@given(st.lists(FRAMES, max_size=12), st.sampled_from([0, 1_000]))
def test_nobody_is_let_through_who_has_not_logged_in(frames, reauthenticate_ms) -> None:
    login = fresh(reauthenticate_ms=reauthenticate_ms)
    logged_in = False
    for each in frames:
        if each is None:
            login.expire()
            continue
        before = login.principal
        verdict = login.take(each, 0)
        login.check()
        logged_in |= isinstance(verdict, LoggedIn)
        assert login.principal == before or (before is None and isinstance(verdict, LoggedIn))
        if isinstance(verdict, PassOn) and not logged_in:
            assert each[:2] == int(ApiKey.API_VERSIONS).to_bytes(2, "big")
        if isinstance(verdict, (Close, Fail, AnswerAndClose)):
            assert login.stage is Stage.OVER
        assert logged_in or not login.is_open

"""PLAIN, both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.principal import Principal
from millstream_security.sasl.exchange import Accepted, SaslRefused
from millstream_security.sasl.plain import PlainClient, PlainServer

USERS = {"alice": "wonder", "emil": "päss"}


def said(token: bytes) -> str:
    with pytest.raises(SaslRefused) as refused:
        PlainServer(USERS.get).step(token, 0)
    return str(refused.value)


@pytest.mark.parametrize("user", USERS)
def test_the_right_password_lets_its_user_in(user) -> None:
    token = PlainClient(user, USERS[user]).first()
    assert PlainServer(USERS.get).step(token, 0) == Accepted(Principal("User", user))


def test_an_unknown_user_and_a_wrong_password_are_refused_in_the_same_words() -> None:
    assert said(b"\0alice\0wrong") == said(b"\0nobody\0wonder") == "Authentication failed: Invalid username or password"


def test_acting_for_another_is_refused() -> None:
    assert "different from username" in said(b"emil\0alice\0wonder")
    assert PlainServer(USERS.get).step(b"alice\0alice\0wonder", 0).principal.name == "alice"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"", "expected 3 tokens, got 1"),
        (b"alice\0wonder", "expected 3 tokens, got 2"),
        (b"\0alice\0wonder\0", "expected 3 tokens, got 4"),
        (b"\0\0wonder", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"\0alice\0\xff", "not UTF-8"),
    ],
)
def test_a_malformed_token_is_told_what_is_wrong(token, told) -> None:
    assert told in said(token)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_and_nothing_else_happens(token) -> None:
    if token not in (b"\0alice\0wonder", b"alice\0alice\0wonder"):
        said(token)

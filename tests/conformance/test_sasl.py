"""Logins, word for word beside Apache Kafka: what is answered, what closes, for each mechanism and for who cheats."""

import time
from collections.abc import Callable, Iterator
from struct import pack

import jwt
import pytest
from kafka_tools import KafkaUnavailable, kafka_libs
from sasl_scene import (
    CLOSED,
    FOREIGN_KEY,
    USERS,
    Outcome,
    Peer,
    Place,
    bearer,
    kafkas_place,
    our_place,
)

from millstream_security.sasl.login import Login

PLAIN, SHA_256, SHA_512, OAUTH = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"
GOOD = b"\0alice\0alice-secret"
REFUSED = 58


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with our_place(tmp_path_factory.mktemp("ours")) as place:
        yield place


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    with kafkas_place(tmp_path_factory.mktemp("kafka")) as place:
        yield place


def login(mechanism: str, user: str = "alice", password: str | None = None, **more: bool) -> Login:
    return Login(mechanism, user, USERS.get(user, "") if password is None else password, **more)


Scenario = Callable[[Peer], list[Outcome]]


def logged_in(peer: Peer) -> list[Outcome]:
    return [peer.handshake(), peer.authenticate(GOOD)]


SCENARIOS: dict[str, Scenario] = {
    **{
        f"{mechanism} v{version}": lambda peer, mechanism=mechanism, version=version: [
            *peer.log_in(login(mechanism), version=version),
            peer.metadata(),
        ]
        for mechanism in (PLAIN, SHA_256, SHA_512)
        for version in (0, 1)
    },
    "bearer": lambda peer: [*peer.log_in(login(OAUTH), bearer("alice")), peer.metadata()],
    "no password": lambda peer: [peer.handshake(), peer.authenticate(b"\0alice\0"), peer.metadata()],
    "no name": lambda peer: [peer.handshake(), peer.authenticate(b"\0\0alice-secret")],
    "two parts": lambda peer: [peer.handshake(), peer.authenticate(b"alice\0alice-secret")],
    "four parts": lambda peer: [peer.handshake(), peer.authenticate(GOOD + b"\0x")],
    "wrong password": lambda peer: [peer.handshake(), peer.authenticate(b"\0alice\0x"), peer.authenticate(GOOD)],
    "unknown user": lambda peer: [peer.handshake(), peer.authenticate(b"\0nobody\0x")],
    "another's name": lambda peer: [peer.handshake(), peer.authenticate(b"bob" + GOOD)],
    "one's own name": lambda peer: [peer.handshake(), peer.authenticate(b"alice" + GOOD)],
    "wrong bare password": lambda peer: [peer.handshake(version=0), peer.bare(b"\0alice\0x")],
    "wrong scram password": lambda peer: peer.log_in(login(SHA_256, password="x")),
    "wrong bare scram password": lambda peer: peer.log_in(login(SHA_256, password="x"), version=0),
    "token by nobody": lambda peer: peer.log_in(login(SHA_256, "x", "y", by_token=True))[-1:],
    "scram for another": lambda peer: [peer.handshake(SHA_256), peer.authenticate(b"n,a=bob,n=alice,r=x")],
    "channel binding": lambda peer: [peer.handshake(SHA_256), peer.authenticate(b"p=tls-unique,,n=alice,r=x")],
    "channel binding thought of": lambda peer: [peer.handshake(SHA_256), peer.authenticate(b"y,,n=alice,r=x")],
    "no scram message": lambda peer: [peer.handshake(SHA_256), peer.authenticate(b"nonsense")],
    "no bearer message": lambda peer: [peer.handshake(OAUTH), peer.authenticate(b"nonsense")],
    "hello, login": lambda peer: [peer.hello(), *logged_in(peer), peer.hello(), peer.metadata()],
    "hello twice": lambda peer: [peer.hello(), peer.hello()],
    "hello of the future": lambda peer: [peer.hello(0), peer.handshake()],
    "request first": lambda peer: [peer.metadata()],
    "token first": lambda peer: [peer.authenticate(GOOD)],
    "bare token first": lambda peer: [peer.bare(GOOD)],
    "unknown mechanism": lambda peer: [peer.handshake("GSSAPI"), peer.handshake()],
    "mechanism in small letters": lambda peer: [peer.handshake("plain")],
    "hello after the handshake": lambda peer: [peer.handshake(), peer.hello(0), peer.authenticate(GOOD)],
    "handshake twice": lambda peer: [peer.handshake(), peer.handshake(), peer.authenticate(GOOD)],
    "request in a bare login": lambda peer: [peer.handshake(version=0), peer.authenticate(GOOD)],
    "bare token in a login": lambda peer: [peer.handshake(), peer.bare(GOOD)],
    "second login": lambda peer: [*logged_in(peer), peer.handshake(), peer.metadata()],
    "second token": lambda peer: [*logged_in(peer), peer.authenticate(GOOD), peer.metadata()],
    "too large": lambda peer: [peer.handshake(), peer.send(pack(">i", 600_000))],
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_login_goes_as_with_kafka(ours: Place, kafkas: Place, name: str) -> None:
    outcomes = []
    for place in (ours, kafkas):
        with Peer(place.sasl) as peer:
            outcomes.append((SCENARIOS[name](peer), peer.message if "password" in name or "name" in name else None))
    assert outcomes[0] == outcomes[1]


FORGED = {
    "another issuer": lambda: bearer("alice", iss="https://elsewhere.example"),
    "another audience": lambda: bearer("alice", aud="elsewhere"),
    "expired": lambda: bearer("alice", lifetime_s=-120),
    "another key": lambda: bearer("alice", key=FOREIGN_KEY),
    "no signature": lambda: bearer("alice", key=None, algorithm="none"),
    "signed with the public key": lambda: jwt.encode({"sub": "alice"}, "k" * 64, "HS256", headers={"kid": "k1"}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_bearer_token_that_the_issuer_did_not_sign_for_us_is_refused_as_with_kafka(
    ours: Place, kafkas: Place, name: str
) -> None:
    outcomes = []
    for place in (ours, kafkas):
        with Peer(place.sasl) as peer:
            outcomes.append(peer.log_in(login(OAUTH), FORGED[name]()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][-1][1] == REFUSED
    assert [each[1] for each in outcomes[0]] == [0, 0, REFUSED]


def test_a_bearer_token_by_another_algorithm_than_its_keys_is_refused(ours: Place) -> None:
    """The key set says what the key is for; Kafka overlooks it."""
    with Peer(ours.sasl) as peer:
        assert peer.log_in(login(OAUTH), bearer("alice", algorithm="PS256"))[-1][1] == REFUSED


def test_scram_tells_nobody_who_exists(ours: Place) -> None:
    """Kafka refuses an unknown name at the first message; here both fail at the second, in the same words."""
    told = []
    for user in ("alice", "nobody", "adam"):  # adam has a password of PLAIN only
        with Peer(ours.sasl) as peer:
            outcomes = peer.log_in(login(SHA_256, user, "wrong"))
            told.append(([each[:3] for each in outcomes], peer.message))
    assert told[0] == told[1] == told[2]


def test_a_replayed_scram_login_is_refused(ours: Place) -> None:
    exchange = login(SHA_256).exchange("nonce", "")
    with Peer(ours.sasl) as peer:
        peer.handshake(SHA_256)
        peer.authenticate(exchange.first())
        final = exchange.step(peer.token)
        assert final is not None
        assert peer.authenticate(final)[1] == 0
    with Peer(ours.sasl) as peer:
        peer.handshake(SHA_256)
        peer.authenticate(exchange.first())
        assert peer.authenticate(final)[1] == REFUSED


def test_a_refusal_takes_its_time(ours: Place) -> None:
    with Peer(ours.sasl) as peer:
        peer.handshake()
        began = time.monotonic()
        assert peer.authenticate(b"\0alice\0x")[1] == REFUSED
        assert time.monotonic() - began >= 0.1
        assert peer.metadata() == CLOSED

"""Logins that end, logins again, and delegation tokens: beside Apache Kafka, and with its own tools."""

import time
from collections.abc import Callable, Iterator

import pytest
from kafka_tools import KafkaUnavailable, kafka_libs, run_tools
from sasl_scene import USERS, Outcome, Peer, Place, bearer, kafkas_place, our_place
from test_sasl import GOOD, login

from millstream_security.sasl.scram_messages import base64
from millstream_wire import messages as m
from millstream_wire.messages.create_delegation_token import CreatableRenewers
from millstream_wire.messages.describe_delegation_token import DescribeDelegationTokenOwner

REAUTHENTICATE_MS = 3_000
BOB = b"\0adam\0adam-secret"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with our_place(tmp_path_factory.mktemp("ours"), connections_max_reauth_ms=str(REAUTHENTICATE_MS)) as place:
        yield place


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    with kafkas_place(tmp_path_factory.mktemp("kafka"), connections_max_reauth_ms=str(REAUTHENTICATE_MS)) as place:
        yield place


def logged_in(peer: Peer) -> list[Outcome]:
    return [peer.handshake(), peer.authenticate(GOOD)]


def late(peer: Peer) -> list[Outcome]:
    outcomes = logged_in(peer)
    time.sleep(REAUTHENTICATE_MS / 1000 + 0.3)
    return outcomes


SCENARIOS: dict[str, Callable[[Peer], list[Outcome]]] = {
    "again at once": lambda peer: [*logged_in(peer), *logged_in(peer), peer.metadata()],
    "again with bare tokens": lambda peer: [*logged_in(peer), peer.handshake(version=0), peer.bare(GOOD), peer.metadata()],
    "as somebody else": lambda peer: [*logged_in(peer), peer.handshake(), peer.authenticate(BOB), peer.metadata()],
    "by another mechanism": lambda peer: [*logged_in(peer), peer.handshake("SCRAM-SHA-256"), peer.authenticate(b"n,,n=alice,r=x")],
    "by no mechanism": lambda peer: [*logged_in(peer), peer.handshake("GSSAPI")],
    "with a wrong password": lambda peer: [*logged_in(peer), peer.handshake(), peer.authenticate(b"\0alice\0x"), peer.metadata()],
    "a request in between": lambda peer: [*logged_in(peer), peer.handshake(), peer.hello(0)],
    "a request in time": lambda peer: [*logged_in(peer), peer.metadata()],
    "a request too late": lambda peer: [*late(peer), peer.metadata()],
    "a hello too late": lambda peer: [*late(peer), peer.hello()],
    "again, late": lambda peer: [*late(peer), *logged_in(peer), peer.metadata()],
    "a bearer's short token": lambda peer: [*peer.log_in(login("OAUTHBEARER"), bearer("alice", lifetime_s=2)), time.sleep(2.5), peer.metadata()],
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_login_ends_and_begins_again_as_with_kafka(ours: Place, kafkas: Place, name: str) -> None:
    outcomes = []
    for place in (ours, kafkas):
        with Peer(place.sasl) as peer:
            outcomes.append((SCENARIOS[name](peer), peer.message))
    assert outcomes[0] == outcomes[1]


class Administrator:
    """Asks about tokens as some user, and notes codes."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def create(self, *renewers: str, lifetime_ms: int = -1, owner: str = "") -> m.CreateDelegationTokenResponse:
        named = [
            CreatableRenewers(principal_type=kind, principal_name=name)
            for kind, name in (r.split(":") for r in renewers)
        ]
        request = m.CreateDelegationTokenRequest(
            renewers=named, max_lifetime_ms=lifetime_ms, owner_principal_type="User" if owner else "", owner_principal_name=owner
        )  # fmt: skip
        return self._peer.call(request, 3, m.CreateDelegationTokenResponse)

    def renew(self, hmac: bytes, period_ms: int = -1) -> m.RenewDelegationTokenResponse:
        return self._peer.call(m.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms), 2, m.RenewDelegationTokenResponse)  # fmt: skip

    def expire(self, hmac: bytes, period_ms: int = -1) -> m.ExpireDelegationTokenResponse:
        return self._peer.call(m.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms), 2, m.ExpireDelegationTokenResponse)  # fmt: skip

    def described(self, *owners: str, everybody: bool = False) -> tuple[int, list[tuple[str, str, tuple[str, ...]]]]:
        named = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
        request = m.DescribeDelegationTokenRequest(owners=None if everybody else named)
        answer = self._peer.call(request, 3, m.DescribeDelegationTokenResponse)
        return answer.error_code, [
            (
                token.principal_name,
                token.token_requester_principal_name,
                tuple(r.principal_name for r in token.renewers),
            )
            for token in answer.tokens
        ]


def until_described(asked: Administrator, count: int) -> None:
    for _ in range(100):
        if len(asked.described(everybody=True)[1]) == count:
            return
        time.sleep(0.05)
    raise AssertionError(asked.described(everybody=True))


def story(place: Place) -> list[object]:
    """The life of a token, as three users and as itself."""
    told: list[object] = []
    with Peer(place.sasl) as alices, Peer(place.sasl) as adams, Peer(place.sasl) as bobs, Peer(place.plain) as nobodys:
        alices.log_in(login("SCRAM-SHA-256", "alice"))
        adams.log_in(login("PLAIN", "adam"))
        bobs.log_in(login("SCRAM-SHA-512", "bob"))
        alice, adam, bob, nobody = map(Administrator, (alices, adams, bobs, nobodys))
        made = alice.create("User:adam", lifetime_ms=60_000)
        told.append(
            (
                made.error_code,
                made.principal_name,
                made.token_requester_principal_name,
                len(made.token_id),
                len(made.hmac),
            )
        )
        told.append(
            (made.expiry_timestamp_ms - made.issue_timestamp_ms, made.max_timestamp_ms - made.issue_timestamp_ms)
        )
        until_described(alice, 1)
        hmac = bytes(made.hmac)
        told += [alice.described(everybody=True), alice.described(), alice.described("bob"), alice.described("alice")]
        told += [adam.described(everybody=True), bob.described(everybody=True)]
        told += [
            nobody.create().error_code,
            nobody.renew(hmac).error_code,
            nobody.expire(hmac).error_code,
            nobody.described(),
        ]
        told += [alice.create("Group:g").error_code]
        told += [bob.renew(hmac).error_code, bob.expire(hmac).error_code, bob.renew(b"x").error_code]
        told += [adam.renew(hmac).error_code, adam.renew(hmac, 99_999_999).expiry_timestamp_ms == made.max_timestamp_ms]
        with Peer(place.sasl) as token:
            told.append(token.log_in(login("SCRAM-SHA-256", made.token_id, base64(hmac), by_token=True)))
            told.append(0 < token.lifetime_ms <= REAUTHENTICATE_MS)
            itself = Administrator(token)
            told += [itself.create().error_code, itself.renew(hmac).error_code, itself.expire(hmac).error_code]
            told += [itself.described(everybody=True), token.metadata()]
        with Peer(place.sasl) as token:
            told.append(token.log_in(login("SCRAM-SHA-512", made.token_id, base64(hmac), by_token=True)))
        told.append(alice.expire(hmac).error_code)
        until_described(alice, 0)
        told += [alice.renew(hmac).error_code]
        with Peer(place.sasl) as token:
            told.append(token.log_in(login("SCRAM-SHA-256", made.token_id, base64(hmac), by_token=True))[-1][-3:])
    return told


def test_the_life_of_a_delegation_token_is_as_with_kafka(ours: Place, kafkas: Place) -> None:
    mine, theirs = story(ours), story(kafkas)
    assert mine[:-1] == theirs[:-1]
    assert mine[-1][0] == 58


def test_tokens_of_somebody_are_those_he_may_renew_too(ours: Place, kafkas: Place) -> None:
    for place in (ours, kafkas):
        with Peer(place.sasl) as peer:
            peer.log_in(login("SCRAM-SHA-256", "alice"))
            alice = Administrator(peer)
            made = alice.create("User:adam")
            until_described(alice, 1)
            assert alice.described("adam") == alice.described("alice") == (0, [("alice", "alice", ("adam",))])
            assert alice.described("bob") == (0, [])
            assert alice.expire(bytes(made.hmac)).error_code == 0
            until_described(alice, 0)


def test_a_token_that_is_over_is_swept_as_with_kafka(ours: Place, kafkas: Place) -> None:
    for place in (ours, kafkas):
        with Peer(place.sasl) as peer:
            peer.log_in(login("SCRAM-SHA-256", "alice"))
            alice = Administrator(peer)
            assert alice.create(lifetime_ms=500).error_code == 0
            until_described(alice, 0)


def test_kafkas_tools_manage_users_and_tokens(ours: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("tools")
    own = directory / "alice.properties"
    own.write_text(_properties("SCRAM-SHA-512", "scram.ScramLoginModule", "alice", USERS["alice"]))
    carols = directory / "carol.properties"
    carols.write_text(_properties("SCRAM-SHA-256", "scram.ScramLoginModule", "carol", "carol-secret"))
    at = ["--bootstrap-server", ours.sasl, "--command-config", str(own)]
    configs = [*at, "--entity-type", "users", "--entity-name", "carol"]
    tokens = "kafka-delegation-tokens"
    results = run_tools(
        [
            (
                "kafka-configs",
                [*configs, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=carol-secret]"],
            ),
            ("kafka-configs", [*configs, "--describe"]),
            ("kafka-topics", ["--bootstrap-server", ours.sasl, "--command-config", str(carols), "--list"]),
            (tokens, [*at, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"]),
            (tokens, [*at, "--describe", "--owner-principal", "User:alice"]),
            ("kafka-configs", [*configs, "--alter", "--delete-config", "SCRAM-SHA-256"]),
            ("kafka-configs", [*configs, "--describe"]),
        ]
    )
    for result in results:
        assert result.returncode == 0, (result.args, result.stdout, result.stderr)
    assert "SCRAM-SHA-256=iterations=8192" in results[1].stdout
    token_line = next(line for line in results[3].stdout.splitlines() if "User:alice" in line)
    token_id, hmac = token_line.split()[:2]
    assert token_id in results[4].stdout
    assert "iterations" not in results[6].stdout
    by_token = directory / "token.properties"
    by_token.write_text(_properties("SCRAM-SHA-256", "scram.ScramLoginModule", token_id, hmac, 'tokenauth="true"'))
    more = run_tools(
        [
            ("kafka-topics", ["--bootstrap-server", ours.sasl, "--command-config", str(by_token), "--list"]),
            (tokens, [*at, "--renew", "--hmac", hmac, "--renew-time-period", "60000"]),
            (tokens, [*at, "--expire", "--hmac", hmac, "--expiry-time-period", "-1"]),
        ]
    )
    for result in more:
        assert result.returncode == 0, (result.args, result.stdout, result.stderr)


def _properties(mechanism: str, module: str, user: str, password: str, more: str = "") -> str:
    return (
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{module} required "
        f'username="{user}" password="{password}" {more};\n'
    )

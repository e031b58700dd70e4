"""Kafka's tools for those who run a closed cluster, as an administrator uses them; and what they tell a user who may do none of it."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace

import confluent_kafka
import pytest
from kafka_programs import write_properties
from kafka_tools import run_tools
from login_ways import OWN, USER, House, Way, house

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TIMEOUT_S = 240
BOB, PASSWORD = "bob", "bob-secret"
MINUTE_MS = "60000"
RATE = 10_000
AT_ONCE = 100_000
"""More than a second's worth goes through at first: what ten windows bring."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as running:
        yield running


def at(place: House, name: str, way: Way) -> list[str]:
    file = write_properties(place.directory / f"{name}.properties", way.properties())
    return ["--bootstrap-server", way.address, "--command-config", file]


def test_an_administrator_gives_and_takes_credentials_rights_quotas_and_tokens(place: House) -> None:
    root, login = at(place, "root", place.root), place.ways["SCRAM-SHA-256"]
    bob = at(place, BOB, replace(login, user=BOB, password=PASSWORD))
    user = ["--entity-type", "users", "--entity-name", BOB]
    rights = ["--allow-principal", f"User:{BOB}", "--topic", "bobs-", "--resource-pattern-type", "prefixed"]
    limited = ["--entity-type", "users", "--entity-name", USER]
    owned = ["--owner-principal", f"User:{BOB}"]
    results = run_tools(
        [
            ("kafka-configs", [*root, "--alter", *user, "--add-config", f"SCRAM-SHA-256=[iterations=8192,password={PASSWORD}]"]),
            ("kafka-configs", [*root, "--alter", *user, "--add-config", "producer_byte_rate=1048576"]),
            ("kafka-configs", [*root, "--describe", *user]),
            ("kafka-configs", [*root, "--alter", *limited, "--add-config", f"producer_byte_rate={RATE},consumer_byte_rate={RATE}"]),
            ("kafka-acls", [*root, "--add", *rights, "--producer"]),
            ("kafka-acls", [*root, "--add", *rights, "--consumer", "--group", "bobs-"]),
            ("kafka-topics", [*bob, "--create", "--topic", "bobs-own"]),
            ("kafka-topics", [*bob, "--list"]),
            ("kafka-acls", [*root, "--list", "--principal", f"User:{BOB}"]),
            ("kafka-delegation-tokens", [*bob, "--create", "--max-life-time-period", "-1", "--renewer-principal", f"User:{USER}"]),
            ("kafka-delegation-tokens", [*root, "--describe", *owned]),
            ("kafka-acls", [*root, "--remove", "--force", "--topic", "bobs-", "--resource-pattern-type", "prefixed"]),
            ("kafka-topics", [*bob, "--list"]),
        ],
        timeout_s=TIMEOUT_S,
    )  # fmt: skip
    for result in results:
        assert result.returncode == 0, (result.args, result.stdout, result.stderr)
    said = [result.stdout for result in results]
    assert "SCRAM-SHA-256=iterations=8192" in said[2]
    assert "producer_byte_rate=1048576" in said[2].replace(".0", "")
    assert said[7].split() == ["bobs-own"], "and not what others have"
    assert said[8].count(f"principal=User:{BOB}, host=*") == 5, said[8]
    token_id, hmac = next(line for line in said[9].splitlines() if f"User:{BOB}" in line).split()[:2]
    assert token_id in said[10]
    assert said[12].split() == [], "what was taken counts at once"
    _who_has_a_quota_waits(login, place.ways["mTLS"])
    by_token = replace(login, user=token_id, password=hmac, by_token=True)
    alice = at(place, USER, login)
    results = run_tools(
        [
            ("kafka-topics", [*at(place, "token", by_token), "--list"]),
            ("kafka-delegation-tokens", [*alice, "--renew", "--hmac", hmac, "--renew-time-period", MINUTE_MS]),
            ("kafka-delegation-tokens", [*bob, "--expire", "--hmac", hmac, "--expiry-time-period", "-1"]),
            ("kafka-configs", [*root, "--alter", *user, "--delete-config", "producer_byte_rate"]),
            ("kafka-configs", [*root, "--alter", *limited, "--delete-config", "producer_byte_rate,consumer_byte_rate"]),
            ("kafka-configs", [*root, "--alter", *user, "--delete-config", "SCRAM-SHA-256"]),
            ("kafka-configs", [*root, "--describe", *user]),
        ],
        timeout_s=TIMEOUT_S,
    )
    for result in results:
        assert result.returncode == 0, (result.args, result.stdout, result.stderr)
    assert "iterations" not in results[-1].stdout
    assert "producer_byte_rate" not in results[-1].stdout


def _who_has_a_quota_waits(limited: Way, free: Way) -> None:
    """The user by whatever client id, and nobody else: librdkafka is told for how long, of what it writes and of what it reads."""
    told: dict[Way, list[float]] = {limited: [], free: []}
    producers = {way: confluent_kafka.Producer(_telling(way, told[way])) for way in (free, limited)}
    deadline = time.monotonic() + TIMEOUT_S
    while not told[limited]:
        assert time.monotonic() < deadline
        for producer in producers.values():
            producer.produce(OWN, b"x" * AT_ONCE)
            assert producer.flush(TIMEOUT_S) == 0
    for way in (free, limited):
        consumer = confluent_kafka.Consumer(_telling(way, told[way]) | {"group.id": "g-quota"})
        consumer.assign([confluent_kafka.TopicPartition(OWN, 0, 0)])
        before, size = len(told[way]), 0
        while size < 2 * AT_ONCE or (way is limited and len(told[way]) == before):
            assert time.monotonic() < deadline
            message = consumer.poll(0.1)
            size += len(message.value()) if message is not None and message.error() is None else 0
        consumer.close()
    assert told[free] == []


def _telling(way: Way, told: list[float]) -> dict[str, object]:
    """It also says 0: that it need not wait any more."""

    def note(event: confluent_kafka.ThrottleEvent) -> None:
        if event.throttle_time > 0:
            told.append(event.throttle_time)

    return way.librdkafka() | {"throttle_cb": note}


def test_who_may_do_none_of_it_is_told_so(place: House) -> None:
    alice = at(place, USER, place.ways["SCRAM-SHA-512"])
    user = ["--entity-type", "users", "--entity-name", USER]
    results = run_tools(
        [
            ("kafka-acls", [*alice, "--list"]),
            ("kafka-acls", [*alice, "--add", "--allow-principal", f"User:{USER}", "--cluster"]),
            ("kafka-acls", [*alice, "--remove", "--force", "--topic", "in"]),
            ("kafka-configs", [*alice, "--alter", *user, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=x]"]),
            ("kafka-configs", [*alice, "--alter", *user, "--add-config", "producer_byte_rate=1"]),
            ("kafka-configs", [*alice, "--describe", *user]),
            ("kafka-delegation-tokens", [*alice, "--create", "--max-life-time-period", "-1", "--owner-principal", "User:root"]),
        ],
        timeout_s=TIMEOUT_S,
    )  # fmt: skip
    for result in results:
        said = result.stdout + result.stderr
        assert "AuthorizationException" in said or "authorization failed" in said.lower(), (result.args, said)

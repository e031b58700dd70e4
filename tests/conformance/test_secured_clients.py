"""Clients that people use, by every way to show who one is, inside TLS and with ACLs on: what is granted works, the rest is refused."""

import shutil
from collections.abc import Iterator

import pytest
import secured_clients
from kafka_tools import KafkaUnavailable, kafka_libs
from login_ways import House, Way, house
from secured_clients import EXPECTED, IN_PYTHON

WAYS = ("SSL", "mTLS", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
TOKEN = "delegation-token"
"""Which librdkafka and the clients in Python cannot show: their SCRAM has no extensions."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as running:
        yield running


@pytest.fixture(scope="module")
def ways(place: House) -> dict[str, Way]:
    try:
        kafka_libs()
    except KafkaUnavailable:
        return place.ways
    return place.ways | {TOKEN: place.with_token()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client", IN_PYTHON)
def test_clients_in_python(place: House, client: str, way: str) -> None:
    assert IN_PYTHON[client](place.ways[way], f"{client}-{way}") == EXPECTED


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go compiler")
def test_franz_go(place: House, ways: dict[str, Way]) -> None:
    assert secured_clients.franz_go(ways, place.directory) == dict.fromkeys(ways, EXPECTED)


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler")
def test_java(place: House, ways: dict[str, Way]) -> None:
    assert secured_clients.javas(ways, place.directory) == dict.fromkeys(ways, EXPECTED)

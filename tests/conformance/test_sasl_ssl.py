"""A login inside TLS, and by two doors at once: each listener has mechanisms of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
import servers
from certificates import Authority
from confluent_kafka.admin import AdminClient, NewTopic
from sasl_scene import JAAS

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory / "ca")
    port = servers.free_port()
    module = (
        f'{JAAS}.plain.PlainLoginModule required username="admin" password="admin-secret" user_admin="admin-secret";'
    )
    settings = {
        "listeners": f"OUT://127.0.0.1:{port},IN://127.0.0.1:{port + 5}",
        "listener.security.protocol.map": "OUT:SASL_SSL,IN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "IN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.out.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.in.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.in.plain.sasl.jaas.config": module,
        "ssl.keystore.location": str(authority.issue("CN=node", "127.0.0.1").file),
        "super.users": "User:admin",
    }
    told = [f"{key}={value}" for key, value in settings.items()]
    first = directory / "first"
    first.write_text("SCRAM-SHA-512=[name=admin,password=admin-secret]\n")
    with servers.node(directory, *told, port=port, more=["--add-scram", f"@{first}"]):
        yield _client(f"127.0.0.1:{port}", authority.file)


def _client(address: str, truststore: Path) -> dict[str, Any]:
    return {
        "bootstrap.servers": address,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(truststore),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": "admin-secret",
    }


def test_a_login_inside_tls(place: dict[str, Any]) -> None:
    admin = AdminClient(place)
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(TIMEOUT_S)
    producer = confluent_kafka.Producer(place)
    producer.produce("t", b"x")
    assert producer.flush(TIMEOUT_S) == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sasl.password": "x"}, "Authentication failed during authentication due to invalid credentials"),
        ({"sasl.mechanism": "PLAIN"}, "Unsupported SASL mechanism: broker's supported mechanisms: SCRAM-SHA-512"),
    ],
)
def test_a_refusal_inside_tls_is_told(place: dict[str, Any], change: dict[str, str], told: str) -> None:
    errors: list[str] = []
    client = confluent_kafka.Producer(place | change | {"error_cb": lambda error: errors.append(str(error))})
    for _ in range(50):
        client.poll(0.2)
        if any(told in each for each in errors):
            return
    raise AssertionError(errors)

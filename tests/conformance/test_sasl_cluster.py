"""A cluster of processes that know each other by SCRAM alone, controllers too, and whose brokers and coordinators are reached inside TLS.

It is begun, it loses its controller, it lets nobody join; clients do there what they were granted, and nothing else.
"""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import secured_clients
import servers
from ask import ask
from authorization_scene import made
from authorization_users import ANY_ACL
from certificates import Authority
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from login_ways import Way, furnish
from sasl_scene import JAAS

from millstream_runtime.nodes.credentials import Credentials
from millstream_security.protocol import ListenerProperties, SecurityProtocol
from millstream_security.sasl.login import Login
from millstream_security.tls.contexts import ClientTls
from millstream_security.tls.settings import TlsSettings
from millstream_wire import messages as m

TIMEOUT_S = 60
USERS = {"node": "node-secret", "alice": "alice-secret"}
LISTENERS = ("plaintext", "controller")
MECHANISM = "SCRAM-SHA-512"
BROKERS = COORDINATORS = 2


@dataclass(frozen=True, slots=True)
class Place:
    running: servers.Cluster
    authority: Authority
    certificate: Path

    def way(self, user: str) -> Way:
        return Way(self.running.bootstrap, self.authority.file, None, MECHANISM, user, USERS[user])


def settings(authority: Authority, certificate: Path, user: str, password: str) -> dict[str, str]:
    module = f'{JAAS}.scram.ScramLoginModule required username="{user}" password="{password}";'
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "sasl.mechanism.controller.protocol": MECHANISM,
        "ssl.keystore.location": str(certificate),
        "ssl.truststore.location": str(authority.file),
        "super.users": "User:node",
        **{f"listener.name.{name}.scram-sha-512.sasl.jaas.config": module for name in LISTENERS},
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("cluster")
    authority = Authority(directory / "certificates")
    certificate = authority.issue("CN=node", "127.0.0.1").file
    first = directory / "first"
    first.write_text("".join(f"{MECHANISM}=[name={name},password={word}]\n" for name, word in USERS.items()))
    told = [f"{key}={value}" for key, value in settings(authority, certificate, "node", USERS["node"]).items()]
    with servers.cluster(directory, *told, brokers=BROKERS, more=["--add-scram", f"@{first}"]) as running:
        yield Place(running, authority, certificate)


def test_replicas_groups_and_a_lost_controller(place: Place) -> None:
    told, cluster = place.way("node").librdkafka(), place.running
    admin = AdminClient(told)
    admin.create_topics([NewTopic("t", 4, 2)])["t"].result(TIMEOUT_S)
    active = next(
        name for name in ("controller-1", "controller-2") if cluster.metric(name, "millstream_active_controller")
    )
    cluster.kill(active)
    admin.create_topics([NewTopic("later", 1, 2)], operation_timeout=TIMEOUT_S)["later"].result(TIMEOUT_S)
    cluster.restart(active)
    producer = Producer(told | {"acks": "all", "transactional.id": "x"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for number in range(40):
        producer.produce("t", str(number))
    producer.commit_transaction(TIMEOUT_S)
    consumer = Consumer(told | {"group.id": "g", "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe(["t"])
    seen: set[bytes] = set()
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 40 and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            seen.add(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert seen == {str(number).encode() for number in range(40)}


def test_a_client_may_do_nothing_that_nobody_granted(place: Place) -> None:
    admin = AdminClient(place.way("alice").librdkafka())
    with pytest.raises(KafkaException, match="AUTHORIZATION_FAILED"):
        admin.create_topics([NewTopic("alices", 1, 1)])["alices"].result(TIMEOUT_S)


@pytest.fixture(scope="module")
def alice(place: Place) -> Way:
    """Who may write to a topic and read it; every broker and every coordinator knows."""
    admin = AdminClient(place.way("node").librdkafka())
    rights = furnish(admin)
    trusted = TlsSettings.of(ListenerProperties("TESTS", {"ssl.truststore.location": str(place.authority.file)}.get))
    login = Login(MECHANISM, "node", USERS["node"])
    credentials = Credentials(SecurityProtocol.SASL_SSL, ClientTls("tests", trusted), login)

    def are_known() -> None:
        nodes = admin.list_topics(timeout=TIMEOUT_S).brokers.values()
        assert len(nodes) == BROKERS + COORDINATORS
        for node in nodes:
            (found,) = ask(f"{node.host}:{node.port}", made(m.DescribeAclsRequest, **ANY_ACL), credentials=credentials)
            assert sum(len(each.acls) for each in found.resources) == rights

    servers.eventually(are_known)
    return place.way("alice")


@pytest.mark.parametrize("client", secured_clients.IN_PYTHON)
def test_clients_do_what_they_were_granted_and_nothing_else(alice: Way, client: str) -> None:
    assert secured_clients.IN_PYTHON[client](alice, client) == secured_clients.EXPECTED


@pytest.mark.parametrize(
    ("password", "told"), [("alice-secret", "CLUSTER_AUTHORIZATION_FAILED"), ("x", "invalid credentials")]
)
def test_a_node_with_a_clients_credentials_or_none_does_not_join(
    place: Place, tmp_path: Path, password: str, told: str
) -> None:
    command = place.running.processes()["broker-1"]["command"]
    assert isinstance(command, list)
    config = Path(command[command.index("--config") + 1])
    controllers = next(line for line in config.read_text().splitlines() if line.startswith("controller.bootstrap"))
    mine = settings(place.authority, place.certificate, "alice", password) | {
        "process.roles": "broker",
        "node.id": "7",
        "broker.session.timeout.ms": "1000",
    }
    file = tmp_path / "node.properties"
    file.write_text("\n".join([controllers, *(f"{key}={value}" for key, value in mine.items())]))
    arguments = ["node", "--config", str(file), "--data", str(tmp_path / "data"), "--port", "0"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([servers.MILLSTREAM, *arguments], stdout=log, stderr=log)
        try:
            servers.eventually(lambda: _expect(told in (tmp_path / "log").read_text(), tmp_path / "log"))
        finally:
            process.kill()
            process.wait(TIMEOUT_S)
    assert "registered node=7" not in (tmp_path / "log").read_text()


def _expect(holds: bool, log: Path) -> None:
    assert holds, log.read_text()

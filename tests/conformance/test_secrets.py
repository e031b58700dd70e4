"""A cluster that logs in over TLS everywhere, used with every kind of secret; then each place where one could show is searched.

The same run has an audit topic, and what was done is looked for there.
"""

import asyncio
import hashlib
import json
import re
import subprocess
import tarfile
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import servers
from certificates import Authority
from confluent_kafka import Consumer
from sasl_scene import JAAS

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client, LoginFailed
from millstream_runtime.nodes.credentials import Credentials
from millstream_runtime.world import RealWorld
from millstream_security.protocol import ListenerProperties, SecurityProtocol
from millstream_security.sasl.login import Login
from millstream_security.tls.contexts import ClientTls
from millstream_security.tls.settings import TlsSettings
from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_client_quotas import EntityData, OpData, RequestEntryData
from millstream_wire.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from millstream_wire.messages.create_acls import AclCreation
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from millstream_wire.messages.describe_configs import DescribeConfigsResource
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import Record, encode_batch

AUDIT = "audit-of-all"
TIMEOUT_MS, TIMEOUT_S = 30_000, 60
SCRAM = "SCRAM-SHA-512"
SECRETS = {
    "a node's password": "Secret-of-nodes-81b3",
    "a user's password": "Secret-of-alice-5c20",
    "a password in a file of users": "Secret-of-carol-9f44",
    "a password that is wrong": "Secret-mistyped-77aa",
    "the keystore's password": "Secret-of-keystore-1d9e",
    "the secret of tokens": "Secret-of-tokens-e61f",
    "a password in a config": "Secret-in-config-30c8",
    "a login module in a config": "Secret-in-module-b7d5",
}
NODE, ALICE, CAROL, WRONG, KEYSTORE, TOKENS, IN_CONFIG, IN_MODULE = SECRETS.values()


class Place:
    def __init__(self, running: servers.Cluster, authority: Authority, directory: Path) -> None:
        self.running, self.authority, self.directory = running, authority, directory
        self.secrets: dict[str, bytes] = {what: word.encode() for what, word in SECRETS.items()}
        """What no place may show; grows by what the cluster makes."""
        self.answers: list[str] = []
        """What DescribeConfigs and its like say, as far as they can be read."""

    async def connect(self, login: Login, broker: int = 0, address: str = "") -> Client:
        told = {"ssl.truststore.location": str(self.authority.file)}
        tls = ClientTls("tests", TlsSettings.of(ListenerProperties("TESTS", told.get)))
        host, _, port = (address or self.running.bootstrap.split(",")[broker]).partition(":")
        credentials = Credentials(SecurityProtocol.SASL_SSL, tls, login)
        return await Client.connect(
            RealWorld(SocketNetwork()), host, int(port), client_id="test", credentials=credentials
        )

    def consumed(self, until: set[str]) -> list[dict[str, Any]]:
        """The audit topic's records, once all of these APIs and events are among them."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.running.bootstrap,
                "security.protocol": "SASL_SSL",
                "ssl.ca.location": str(self.authority.file),
                "sasl.mechanism": SCRAM,
                "sasl.username": "node",
                "sasl.password": NODE,
                "group.id": f"auditors-{time.monotonic_ns()}",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([AUDIT])
        found: list[dict[str, Any]] = []
        missing, deadline = until, time.monotonic() + TIMEOUT_S
        while missing and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                found.append(json.loads(message.value()))
                missing = missing - {found[-1].get("api", ""), found[-1]["event"]}
        consumer.close()
        assert not missing, (missing, found)
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("secrets")
    authority = Authority(directory / "ca")
    keystore = authority.issue("CN=node", "127.0.0.1").pkcs12(KEYSTORE)
    users = directory / "users"
    users.write_text(f"carol={CAROL}\n")
    module = f'{JAAS}.scram.ScramLoginModule required username="node" password="{NODE}";'
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": f"{SCRAM},PLAIN",
        "sasl.mechanism.inter.broker.protocol": SCRAM,
        "sasl.mechanism.controller.protocol": SCRAM,
        "super.users": "User:node",
        "ssl.keystore.location": str(keystore),
        "ssl.keystore.password": KEYSTORE,
        "ssl.truststore.location": str(authority.file),
        "delegation.token.secret.key": TOKENS,
        "millstream.audit.topic": AUDIT,
        **{f"listener.name.{name}.scram-sha-512.sasl.jaas.config": module for name in ("plaintext", "controller")},
        **{f"listener.name.{name}.plain.users.file": str(users) for name in ("plaintext", "controller")},
    }
    first = directory / "first"
    first.write_text(f"{SCRAM}=[name=node,password={NODE}]\n")
    told = [f"{key}={value}" for key, value in settings.items()]
    with servers.cluster(directory, *told, brokers=2, more=["--add-scram", f"@{first}"]) as running:
        found = Place(running, authority, directory)
        asyncio.run(use(found))
        yield found


async def use(place: Place) -> None:
    """Every way in which a secret gets to a cluster."""
    admin = await place.connect(Login(SCRAM, "node", NODE))

    async def ask(request: Any) -> Any:
        return await admin.request(request, timeout_ms=TIMEOUT_MS)

    made = await ask(m.CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=2)]))
    assert [each.error_code for each in made.topics] == [0]
    salted = hashlib.pbkdf2_hmac("sha512", ALICE.encode(), b"salt-of-alice-3e", 4096)
    credential = ScramCredentialUpsertion(
        name="alice", mechanism=2, iterations=4096, salt=b"salt-of-alice-3e", salted_password=salted
    )
    place.secrets |= {"a salted password": salted, "a salt": b"salt-of-alice-3e"}
    assert (await ask(m.AlterUserScramCredentialsRequest(upsertions=[credential]))).results[0].error_code == 0
    acl = AclCreation(
        resource_type=2, resource_name="t", principal="User:alice", host="*", operation=3, permission_type=3
    )
    assert (await ask(m.CreateAclsRequest(creations=[acl]))).results[0].error_code == 0
    quota = RequestEntryData(
        entity=[EntityData(entity_type="user", entity_name="alice")], ops=[OpData(key="producer_byte_rate", value=1e6)]
    )
    assert (await ask(m.AlterClientQuotasRequest(entries=[quota]))).entries[0].error_code == 0
    configs = [
        AlterableConfig(name="ssl.keystore.password", value=IN_CONFIG),
        AlterableConfig(name="listener.name.plaintext.plain.sasl.jaas.config", value=IN_MODULE),
    ]
    for config in configs:  # taken or refused: in no case said
        resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[config])
        await ask(m.IncrementalAlterConfigsRequest(resources=[resource]))
    token = await ask(m.CreateDelegationTokenRequest(max_lifetime_ms=600_000))
    assert token.error_code == 0
    hmac = bytes(token.hmac)
    place.secrets |= {
        "a token": hmac,
        "a token as text": b64encode(hmac),
        "a token in hexadecimal": hmac.hex().encode(),
    }
    assert (await ask(m.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=600_000))).error_code == 0
    await delete_group(place, admin)
    await (await logged_in(place, Login(SCRAM, token.token_id, b64encode(hmac).decode(), by_token=True))).close()
    for login in (Login(SCRAM, "alice", WRONG), Login("PLAIN", "carol", WRONG), Login(SCRAM, "nobody", WRONG)):
        with pytest.raises(LoginFailed):
            await place.connect(login)
    alice = await logged_in(place, Login(SCRAM, "alice", ALICE))
    refused = await alice.request(
        m.CreateTopicsRequest(topics=[CreatableTopic(name="alices", num_partitions=1, replication_factor=1)]),
        timeout_ms=TIMEOUT_MS,
    )
    assert refused.topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await alice.close()
    await (await logged_in(place, Login("PLAIN", "carol", CAROL))).close()
    for broker in (0, 1):
        await describe(place, broker)
    await admin.close()


async def delete_group(place: Place, admin: Client) -> None:
    """One that is not there, at the coordinator that would have it."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        asked = m.FindCoordinatorRequest(key_type=0, coordinator_keys=["nobodys"])
        found = (await admin.request(asked, timeout_ms=TIMEOUT_MS)).coordinators[0]
        if found.error_code == 0:
            coordinator = await place.connect(Login(SCRAM, "node", NODE), address=f"{found.host}:{found.port}")
            answer = await coordinator.request(m.DeleteGroupsRequest(groups_names=["nobodys"]), timeout_ms=TIMEOUT_MS)
            await coordinator.close()
            if answer.results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                return
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


async def logged_in(place: Place, login: Login) -> Client:
    """Once the broker has heard of the credential."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return await place.connect(login)
        except LoginFailed:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


async def describe(place: Place, broker: int) -> None:
    client = await place.connect(Login(SCRAM, "node", NODE), broker)
    for number in ("1", "2", ""):
        resource = DescribeConfigsResource(resource_type=4, resource_name=number, configuration_keys=None)
        request = m.DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
        place.answers.append(repr(await client.request(request, timeout_ms=TIMEOUT_MS)))
    for other in (
        m.DescribeUserScramCredentialsRequest(users=[]),
        m.DescribeClientQuotasRequest(),
        m.MetadataRequest(),
    ):
        place.answers.append(repr(await client.request(other, timeout_ms=TIMEOUT_MS)))
    await client.close()


def found_in(place: Place, content: bytes) -> list[str]:
    return [what for what, secret in place.secrets.items() if secret in content]


def pids(place: Place) -> dict[str, int]:
    return {name: int(str(each["pid"])) for name, each in place.running.processes().items()}


SAID = {
    "CREATE_TOPICS",
    "ALTER_USER_SCRAM_CREDENTIALS",
    "CREATE_ACLS",
    "ALTER_CLIENT_QUOTAS",
    "CREATE_DELEGATION_TOKEN",
    "RENEW_DELEGATION_TOKEN",
    "DELETE_GROUPS",
    "login failed",
    "authorization denied",
}


def test_the_audit_topic_has_what_every_role_said(place: Place) -> None:
    records = place.consumed(SAID)
    roles = {record["node"].partition("-")[0]: record for record in records}
    assert roles.keys() == {"broker", "controller", "coordinator"}
    created = next(each for each in records if each.get("resource") == "TOPIC:t")
    assert {name: created[name] for name in ("event", "principal", "host", "answer", "detail")} == {
        "event": "change",
        "principal": "User:node",
        "host": "127.0.0.1",
        "answer": "NONE",
        "detail": "partitions=1,replication_factor=2",
    }
    denied = next(each for each in records if each["event"] == "authorization denied")
    assert (denied["principal"], denied["resource"]) == ("User:alice", "TOPIC:alices")
    assert not any("dropped" in record for record in records)
    assert [what for what in place.secrets if found_in(place, json.dumps(records).encode())] == []


def test_nobody_but_nodes_writes_the_audit_topic_and_what_is_taken_out_is_said(place: Place) -> None:
    async def write() -> tuple[int, int]:
        client = await place.connect(Login(SCRAM, "node", NODE))
        batch = encode_batch(
            [Record(0, int(time.time() * 1000), None, b'{"event":"change","principal":"User:mallory"}')]
        )
        topic_id = (await client.request(m.MetadataRequest(topics=None), timeout_ms=TIMEOUT_MS)).topics
        ids = {each.name: (each.topic_id, each.partitions[0].leader_id) for each in topic_id}
        found, leader = ids[AUDIT]
        there = await place.connect(Login(SCRAM, "node", NODE), leader - 1)
        data = TopicProduceData(
            name=AUDIT, topic_id=found, partition_data=[PartitionProduceData(index=0, records=batch)]
        )
        answer = await there.request(
            m.ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data]), timeout_ms=TIMEOUT_MS
        )
        cut = DeleteRecordsTopic(name=AUDIT, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
        deleted = await there.request(m.DeleteRecordsRequest(topics=[cut], timeout_ms=10_000), timeout_ms=TIMEOUT_MS)
        await there.close()
        await client.close()
        return (
            answer.responses[0].partition_responses[0].error_code,
            deleted.topics[0].partitions[0].error_code,
        )

    assert asyncio.run(write()) == (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.NONE)
    records = place.consumed({"DELETE_RECORDS"})
    assert [each["resource"] for each in records if each.get("api") == "DELETE_RECORDS"] == [f"TOPIC:{AUDIT}"]
    assert not any(each["principal"] == "User:mallory" for each in records)


def test_no_secret_is_in_any_log(place: Place) -> None:
    names = ("cluster.log", "stderr.log")
    texts = {str(path): path.read_bytes() for name in names for path in place.directory.rglob(name)}
    assert len(texts) == 1 + len(pids(place))
    assert any(b"login failed" in text for text in texts.values()), "the logs are those of the run"
    assert {name: found for name, text in texts.items() if (found := found_in(place, text))} == {}


def test_no_secret_is_in_any_metric(place: Place) -> None:
    for name in pids(place):
        told = (place.directory / "cluster" / name / "node.properties").read_text()
        port = re.search(r"(?m)^http\.port=(\d+)$", told)
        assert port is not None
        for path in ("metrics", "healthz", "readyz"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/{path}", timeout=10) as answer:
                assert found_in(place, answer.read()) == []


def test_no_secret_is_in_any_process_list(place: Place) -> None:
    """Command lines, environments and what a core file's path is made of: program, name of the process, directory."""
    for pid in pids(place).values():
        process = Path(f"/proc/{pid}")
        for name in ("cmdline", "environ", "comm"):
            content = (process / name).read_bytes()
            assert content or name == "environ"
            assert found_in(place, content) == []
        for name in ("exe", "cwd"):
            assert found_in(place, str((process / name).readlink()).encode()) == []


def test_no_answer_shows_a_secret(place: Place) -> None:
    assert any("ssl.keystore.password" in answer for answer in place.answers), "the answers are about secrets too"
    assert [found for answer in place.answers if (found := found_in(place, answer.encode()))] == []


def test_data_has_no_password_and_who_may_read_the_properties_is_the_user_alone(place: Place) -> None:
    """The metadata log has salts, keys worked out of passwords, and configs that were set while nodes run; the rest is in the properties alone."""
    kept = {"a salt", "a password in a config", "a login module in a config"}
    for path in sorted((place.directory / "cluster").rglob("*")):
        assert found_in(place, path.name.encode()) == []
        if path.name in ("node.properties", "first-logins"):
            assert path.stat().st_mode & 0o077 == 0
        elif path.is_file():
            found = set(found_in(place, path.read_bytes()))
            assert found <= (kept if "controller" in str(path) else set()), path


def test_no_secret_is_in_a_debug_bundle(place: Place, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        f"bootstrap.servers={place.running.bootstrap}\nsecurity.protocol=SASL_SSL\nsasl.mechanism={SCRAM}\n"
        f'sasl.jaas.config={JAAS}.scram.ScramLoginModule required username="node" password="{NODE}";\n'
        f"ssl.truststore.location={place.authority.file}\n"
    )
    properties.chmod(0o600)
    log = tmp_path / "some.log"
    log.write_text(f"what another program said: password={ALICE}, and {{'Secret': '{CAROL}'}}\n")
    told = next((place.directory / "cluster").glob("broker-*/node.properties")).read_text()
    port = re.search(r"(?m)^http\.port=(\d+)$", told)
    assert port is not None
    bundle = tmp_path / "bundle.tar.gz"
    at = f"127.0.0.1:{port[1]}"
    options = ["--output", str(bundle), "--metrics", at, "--metrics", "127.0.0.1:1", "--log", str(log)]
    logs = [
        part for path in place.directory.rglob("*.log") if "cluster.log" in path.name for part in ("--log", str(path))
    ]
    command = [servers.MILLSTREAM, "debug", "bundle", "--command-config", str(properties), *options, *logs, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["missing"].keys() == {"metrics/127.0.0.1_1.txt"}
    with tarfile.open(bundle) as archive:
        contents = {
            member.name.partition("/")[2]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
        }
    assert {name: found for name, content in contents.items() if (found := found_in(place, content))} == {}
    assert set(contents) >= {
        *(f"{name}.json" for name in ("versions", "client", "cluster", "apis", "topics", "groups", "transactions")),
        *(f"{name}.json" for name in ("settings-of-topics", "settings-of-brokers", "directories", "moves", "history")),
        f"metrics/{at.replace(':', '_')}.txt",
    }
    assert b"what another program said" in contents[next(name for name in contents if name.endswith("some.log.txt"))]
    assert json.loads(contents["topics.json"])["t"]["partitions"]
    assert json.loads(contents["client.json"])["sasl.jaas.config"] == "(hidden)"
    assert any(each["about"] == "topic t" for each in json.loads(contents["history.json"])["events"])

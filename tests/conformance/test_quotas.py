"""Client quotas beside Apache Kafka's in the same run: who is told to wait, for how long, what is refused, and that nobody is dropped."""

import asyncio
import math
import shutil
import socket
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import servers
from kafka_broker import KafkaBroker
from kafka_tools import run_tools
from quota_scene import CONNECTIONS, LATE_MS, alter, alter_by, codes, described, quotas, silence_ms
from wire_client import PRODUCE_VERSION, WireClient, fetch_request, produce_request

from millstream_operator.kafka.cluster import KafkaCluster
from millstream_operator.kafka.users import perform
from millstream_operator.plan.user import SetQuotas, wanted_user
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ApiVersionsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceResponse,
)
from millstream_wire.messages.create_partitions import CreatePartitionsTopic
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.delete_topics import DeleteTopicState
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.records import Record, encode_batch

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

ANONYMOUS = "ANONYMOUS"
WINDOWS_MS = 10_000
"""What ten windows bring may be used at once; the eleventh is under way."""
TOLERANCE_MS = 1_100
"""A window: in which of them a request was counted is the server's, and Kafka counts headers too."""
PRODUCED, FETCHED, REQUEST_TIME = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
MUTATIONS = "controller_mutation_rate"


def client_name() -> str:
    return f"c-{uuid.uuid4().hex[:8]}"


def produce(client: WireClient, topic: str, size: int) -> Any:
    batch = encode_batch([Record(-1, 1, None, b"x" * size)])
    return client.call(produce_request(topic, batch), PRODUCE_VERSION, ProduceResponse)


def made(bootstrap: str, topic: str) -> str:
    """Where the topic is, which exists from now on."""
    with WireClient(bootstrap) as client:
        client.create_topic(topic)
    addresses: list[str] = []

    def led() -> None:
        with WireClient(bootstrap) as client:
            answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 9, MetadataResponse)
        leader = answer.topics[0].partitions[0].leader_id
        addresses.extend(f"{each.host}:{each.port}" for each in answer.brokers if each.node_id == leader)
        assert addresses

    servers.eventually(led)
    return addresses[0]


def test_producers_are_told_to_wait_and_not_read_for_as_long_as_kafka_says(anywhere: str, topic: str) -> None:
    name, leader = client_name(), made(anywhere, topic)
    with quotas(anywhere, ({"client-id": name}, {PRODUCED: 1_000.0})), WireClient(leader, client_id=name) as client:
        assert produce(client, topic, 9_000).throttle_time_ms == 0, "what the windows bring is free"
        answer = produce(client, topic, 3_000)
        assert answer.responses[0].partition_responses[0].error_code == 0, "it is in the log"
        assert abs(answer.throttle_time_ms - 2_000) < TOLERANCE_MS
        assert -TOLERANCE_MS < silence_ms(client) - answer.throttle_time_ms < LATE_MS
        with WireClient(leader, client_id=client_name()) as other:
            assert produce(other, topic, 20_000).throttle_time_ms == 0


def test_consumers_are_told_to_wait_and_not_read(anywhere: str, topic: str) -> None:
    name, leader = client_name(), made(anywhere, topic)
    with WireClient(leader) as producer:
        for _ in range(4):
            produce(producer, topic, 4_000)
    with quotas(anywhere, ({"client-id": name}, {FETCHED: 1_000.0})), WireClient(leader, client_id=name) as client:
        told, got, offset = 0, 0, 0
        while not told:
            answer = client.call(fetch_request(topic, [(0, offset)], max_bytes=4_100), 12, FetchResponse)
            data = answer.responses[0].partitions[0] if answer.responses else None
            size = len(data.records or b"") if data is not None else 0
            got, offset, told = got + size, offset + bool(size), answer.throttle_time_ms
        # Kafka gives nothing with the answer that says so, and takes it back from what it counted; we give it, and count it.
        over_ms = max(got, 12_400) - WINDOWS_MS
        assert abs(told - over_ms) < TOLERANCE_MS
        assert -TOLERANCE_MS < silence_ms(client) - told < LATE_MS


def test_the_most_exact_of_eight_levels_holds(anywhere: str, topic: str) -> None:
    leader = made(anywhere, topic)
    names = [client_name() for _ in range(8)]

    def levels(name: str) -> list[dict[str, str | None]]:
        return [
            {"user": ANONYMOUS, "client-id": name},
            {"user": ANONYMOUS, "client-id": None},
            {"user": ANONYMOUS},
            {"user": None, "client-id": name},
            {"user": None, "client-id": None},
            {"user": None},
            {"client-id": name},
            {"client-id": None},
        ]

    size, seconds = 600_000, []
    try:
        for at, name in enumerate(names):
            for level, entity in enumerate(levels(name)):
                rate = 30_000 // 3**level if level >= at else None
                alter(anywhere, entity, {PRODUCED: rate})
            time.sleep(0.7)
            with WireClient(leader, client_id=name) as client:
                told = produce(client, topic, size).throttle_time_ms / 1000
            seconds.append(told)
    finally:
        for name in names:
            for entity in levels(name):
                alter(anywhere, entity, {PRODUCED: None})
        time.sleep(0.7)
    for level, told in enumerate(seconds):
        rate = 30_000 // 3**level
        least, most = size / rate - 10, (2 if level == 5 else 1) * size / rate - 10  # level 5 shares with level 2
        assert least * 0.98 - 2 <= told <= most * 1.02 + 2, (level, seconds)


def test_who_takes_more_time_than_it_may_is_told_to_wait_a_window_at_most(anywhere: str) -> None:
    name = client_name()
    with quotas(anywhere, ({"client-id": name}, {REQUEST_TIME: 0.01})), WireClient(anywhere, client_id=name) as client:
        told = 0
        for _ in range(10_000):
            told = client.call(ListOffsetsRequest(topics=[]), 7, ListOffsetsResponse).throttle_time_ms
            if told:
                break
        assert 0 < told <= 1_000
        assert 0.8 * told - 20 < silence_ms(client) < told + LATE_MS
        with WireClient(anywhere, client_id=client_name()) as other:
            assert all(
                other.call(ListOffsetsRequest(topics=[]), 7, ListOffsetsResponse).throttle_time_ms == 0
                for _ in range(300)
            )


def test_a_coordinator_of_its_own_keeps_to_it(cluster: servers.Cluster) -> None:
    name, group = client_name(), client_name()
    found: list[str] = []

    def find() -> None:
        with WireClient(cluster.bootstrap) as client:
            answer = client.call(FindCoordinatorRequest(key=group), 3, FindCoordinatorResponse)
        assert answer.error_code == 0
        found.append(f"{answer.host}:{answer.port}")

    servers.eventually(find)
    assert found[0] not in cluster.bootstrap.split(",")
    with (
        quotas(cluster.bootstrap, ({"client-id": name}, {REQUEST_TIME: 0.01})),
        WireClient(found[0], client_id=name) as client,
    ):
        told = 0
        for _ in range(10_000):
            beat = client.call(HeartbeatRequest(group_id=group, member_id="m"), 4, HeartbeatResponse)
            told = beat.throttle_time_ms
            if told:
                break
        assert 0 < told <= 1_000
        assert 0.8 * told - 20 < silence_ms(client) < told + LATE_MS


def _create(client: WireClient, version: int, *names: str, partitions: int = 1, validate_only: bool = False) -> Any:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    request = CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=validate_only)
    return client.call(request, version, CreateTopicsResponse)


def _asked_for(client: WireClient, topic: str, *, creates: bool = True) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=creates)
    return int(client.call(request, 9, MetadataResponse).topics[0].error_code)


REFUSED = (ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)


def test_changes_of_metadata_beyond_the_quota_are_refused_where_the_version_knows_it(anywhere: str, topic: str) -> None:
    """A bucket of ten tokens, one a second, and 29 partitions: nobody who knows the code changes anything for 19 seconds."""
    name = client_name()
    with quotas(anywhere, ({"client-id": name}, {MUTATIONS: 1.0})):
        began = time.monotonic()

        def is_told(answer: Any) -> bool:
            least_ms = 19_000 - (time.monotonic() - began) * 1000
            return bool(least_ms - TOLERANCE_MS <= answer.throttle_time_ms <= 19_000)

        with WireClient(anywhere, client_id=name) as client:
            created = _create(client, 7, f"{topic}-a", partitions=29)
            assert (codes(created.topics), created.throttle_time_ms) == ([(0, None)], 0), (
                "what was not overdrawn may be"
            )
            refused = _create(client, 7, f"{topic}-b", f"{topic}-c")
            assert codes(refused.topics) == [REFUSED] * 2
            assert is_told(refused)
        with WireClient(anywhere, client_id=name) as client:
            growth = CreatePartitionsTopic(name=f"{topic}-a", count=30, assignments=None)
            refused = client.call(
                CreatePartitionsRequest(topics=[growth], timeout_ms=9_000), 3, CreatePartitionsResponse
            )
            assert codes(refused.results) == [REFUSED]
            assert is_told(refused)
        with WireClient(anywhere, client_id=name) as client:
            state = DeleteTopicState(name=f"{topic}-a")
            refused = client.call(DeleteTopicsRequest(topics=[state], timeout_ms=9_000), 6, DeleteTopicsResponse)
            assert codes(refused.responses) == [REFUSED]
            assert is_told(refused)
        with WireClient(anywhere, client_id=name) as client:
            assert _asked_for(client, f"{topic}-d") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with WireClient(anywhere) as other:
            assert codes(_create(other, 7, f"{topic}-e", partitions=20).topics) == [(0, None)]
            time.sleep(0.5)
            assert _asked_for(other, f"{topic}-d", creates=False) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "by itself"
        with WireClient(anywhere, client_id=name) as client:
            older = _create(client, 5, f"{topic}-f", partitions=1)
            assert codes(older.topics) == [(0, None)], "older versions are never refused"
            assert older.throttle_time_ms > 0


def test_who_changed_too_much_is_not_read(anywhere: str, topic: str) -> None:
    name = client_name()
    with quotas(anywhere, ({"client-id": name}, {MUTATIONS: 2.0})), WireClient(anywhere, client_id=name) as client:
        told = _create(client, 5, topic, partitions=26).throttle_time_ms
        assert abs(told - 3_000) < TOLERANCE_MS
        assert -TOLERANCE_MS < silence_ms(client) - told < LATE_MS
        created = _create(client, 7, f"{topic}-b")
        assert (codes(created.topics), created.throttle_time_ms) == ([(0, None)], 0), "whoever waited may go on"


def test_what_is_only_validated_counts_as_with_kafka(kafka: KafkaBroker, node: servers.ServerProcess) -> None:
    def seen(bootstrap: str) -> list[Any]:
        name, topic = client_name(), f"t-{uuid.uuid4().hex[:8]}"
        outcomes: list[Any] = []
        with quotas(bootstrap, ({"client-id": name}, {MUTATIONS: 1.0})):
            for validate_only, partitions in [(True, 30), (False, 1), (True, 1)]:
                with WireClient(bootstrap, client_id=name) as client:
                    answer = _create(client, 7, topic, partitions=partitions, validate_only=validate_only)
                outcomes += [*codes(answer.topics), round(answer.throttle_time_ms, -4)]
            with WireClient(bootstrap, client_id=name) as client:
                outcomes += codes(_create(client, 7, "not/a/name").topics)
        return outcomes

    assert seen(node.bootstrap) == seen(kafka.bootstrap)


VALUES = (0.0, -1.0, 0.5, 1.0, 2.0**31 - 1, 2.0**31, 1e30, math.inf, math.nan)
ENTITIES: tuple[dict[str, str | None], ...] = (
    {"user": "u"},
    {"user": None},
    {"client-id": "c"},
    {"user": "u", "client-id": None},
    {"ip": "10.1.2.3"},
    {"ip": None},
    {"ip": "::1"},
    {"ip": "no such host"},
    {"ip": "10.1.2.3", "user": "u"},
    {"zoo": "a"},
)


def test_values_and_entities_are_taken_and_refused_as_by_kafka(kafka: KafkaBroker, node: servers.ServerProcess) -> None:
    differ = []
    # Over connections that are there: a rate for all addresses holds for this one, too.
    with WireClient(kafka.bootstrap) as theirs, WireClient(node.bootstrap) as ours:
        for key in (PRODUCED, REQUEST_TIME, MUTATIONS, CONNECTIONS, "x"):
            for entity in ENTITIES:
                for value in VALUES if len(entity) == 1 and "u" not in entity.values() else (5.0,):
                    answers = [alter_by(each, entity, {key: value}) for each in (theirs, ours)]
                    if answers[0] != answers[1]:
                        differ.append((key, entity, value, *answers))
                for each in (theirs, ours):
                    alter_by(each, entity, {key: None})
    for key, entity, value, _, answer in differ:
        assert not math.isfinite(value), (key, entity, value)
        assert answer[0] == ErrorCode.INVALID_REQUEST, "Kafka stores it, and JSON has no such number"


def test_kafkas_tools_show_and_set_them_as_with_kafka(kafka: KafkaBroker, node: servers.ServerProcess) -> None:
    user, address = client_name(), "10.9.8.7"
    who = {
        "user": ["--entity-type", "users", "--entity-name", user],
        "all users": ["--entity-type", "users", "--entity-default"],
        "both": ["--entity-type", "users", "--entity-name", user, "--entity-type", "clients", "--entity-name", "c"],
        "client": ["--entity-type", "clients", "--entity-name", user],
        "address": ["--entity-type", "ips", "--entity-name", address],
        "all addresses": ["--entity-type", "ips", "--entity-default"],
    }
    clients = (
        "producer_byte_rate=1000000,consumer_byte_rate=2000000,request_percentage=150.5,controller_mutation_rate=7.5"
    )

    def shown(bootstrap: str) -> list[tuple[int, str]]:
        def configs(*arguments: str) -> tuple[str, list[str]]:
            return "kafka-configs", ["--bootstrap-server", bootstrap, *arguments]

        commands = []
        for name, entity in who.items():
            values = "connection_creation_rate=5000000" if "address" in name else clients
            keys = ",".join(each.partition("=")[0] for each in values.split(","))
            commands += [
                configs("--alter", "--add-config", values, *entity),
                configs("--describe", *entity),
                configs("--alter", "--delete-config", keys, *entity),
                configs("--describe", *entity),
            ]
        commands.append(configs("--alter", "--add-config", "connection_creation_rate=0", *who["address"]))
        return [(each.returncode, each.stdout) for each in run_tools(commands, timeout_s=400)]

    ours, theirs = shown(node.bootstrap), shown(kafka.bootstrap)
    assert ours == theirs
    assert "connection_creation_rate=5000000.0" in ours[17][1]
    assert ours[-1][0] != 0


def test_quotas_outlive_a_restart(fresh: Path) -> None:
    name, topic = client_name(), "t"
    with servers.node(fresh) as node:
        made(node.bootstrap, topic)
        wanted = {REQUEST_TIME: 50.0, PRODUCED: 1_000.0, MUTATIONS: 2.5}
        assert alter(node.bootstrap, {"client-id": name}, wanted) == (0, None)
        assert alter(node.bootstrap, {"ip": None}, {CONNECTIONS: 1_000.0}) == (0, None)
    with servers.node(fresh) as node:
        assert described(node.bootstrap) == {
            frozenset({("client-id", name)}): wanted,
            frozenset({("ip", None)}): {CONNECTIONS: 1_000.0},
        }
        with WireClient(node.bootstrap, client_id=name) as client:
            assert produce(client, topic, 50_000).throttle_time_ms > 30_000


def test_a_muted_client_may_go_and_come_back(anywhere: str, topic: str) -> None:
    """It is not read, and not dropped: what it sent meanwhile is handled when the time is over."""
    name, leader = client_name(), made(anywhere, topic)
    with quotas(anywhere, ({"client-id": name}, {PRODUCED: 1_000.0})), WireClient(leader, client_id=name) as client:
        told = produce(client, topic, 11_500).throttle_time_ms
        assert abs(told - 1_500) < TOLERANCE_MS
        client.socket.settimeout(told / 1000 * 0.5)
        with pytest.raises((TimeoutError, socket.timeout)):
            silence_ms(client)
        client.socket.settimeout(10)
        client.receive(ApiVersionsResponse, 0)


def test_what_a_user_resource_asks_for_is_set(bootstrap: str) -> None:
    host, _, port = bootstrap.split(",")[0].partition(":")
    asked = {"producerByteRate": 1000, "consumerByteRate": 2000, "requestPercentage": 50, "controllerMutationRate": 0.5}
    user = wanted_user(client_name(), {"quotas": asked})
    quotas_set = {PRODUCED: 1000.0, FETCHED: 2000.0, REQUEST_TIME: 50.0, MUTATIONS: 0.5}

    async def carry_out(*steps: SetQuotas) -> None:
        nodes = Nodes(RealWorld(SocketNetwork()), client_id="operator")
        for step in steps:
            await perform(KafkaCluster(nodes, (host, int(port))), user, step, "")
        await nodes.close()

    asyncio.run(carry_out(SetQuotas(user.quotas)))
    of_user = frozenset({("user", user.name)})
    servers.eventually(lambda: _same(described(bootstrap).get(of_user), quotas_set))
    asyncio.run(carry_out(SetQuotas(dict.fromkeys(user.quotas))))
    servers.eventually(lambda: _same(of_user in described(bootstrap), False))


def _same(one: object, other: object) -> None:
    assert one == other

"""What a group's configuration does to real clients of both protocols: admission, pausing, draining, size, where it begins."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import GroupAuthorizationFailedError
from confluent_kafka import Consumer, KafkaError, TopicPartition
from kafka_tools import run_tool, tool_command
from servers import ServerProcess, eventually, node
from test_confluent import create, produce

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import IncrementalAlterConfigsRequest
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

TIMEOUT_S = 60
GROUP, SET, DELETE = 32, 0, 1
PROTOCOLS = ("classic", "consumer")
NOT_AUTHORIZED = "Group authorization failed"
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = (
        "group.consumer.heartbeat.interval.ms=300",
        "group.consumer.assignment.interval.ms=0",
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.num.partitions=2",
    )
    with node(tmp_path_factory.mktemp("group-policy"), *settings) as running:
        yield running


@pytest.fixture
def bootstrap(server: ServerProcess) -> str:
    return server.bootstrap


def configure(bootstrap: str, group: str, **values: str | None) -> None:
    changes = [
        AlterableConfig(name=name.replace("__", "."), config_operation=DELETE if value is None else SET, value=value)
        for name, value in values.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=changes)

    async def alter() -> None:
        host, port = bootstrap.split(":")
        client = await Client.connect(RealWorld(SocketNetwork()), host, int(port), client_id="test")
        try:
            answer = await client.request(IncrementalAlterConfigsRequest(resources=[resource]), timeout_ms=30_000)
        finally:
            await client.close()
        assert [each.error_code for each in answer.responses] == [ErrorCode.NONE]

    asyncio.run(alter())


def member(bootstrap: str, group: str, protocol: str, **config: object) -> Consumer:
    timing = {"session.timeout.ms": 15_000, "heartbeat.interval.ms": 300} if protocol == "classic" else {}
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **timing,
            **config,
        }
    )


def owns(reader: Consumer, count: int, seen: list[str] | None = None) -> Callable[[], None]:
    def check() -> None:
        for message in reader.consume(100, 0.05):
            assert message.error() is None, message.error()
            if seen is not None:
                seen.append(message.value().decode())
        assert len(reader.assignment()) == count

    return check


def has_read(reader: Consumer, count: int, seen: list[str]) -> Callable[[], None]:
    def check() -> None:
        seen.extend(message.value().decode() for message in reader.consume(100, 0.05) if message.error() is None)
        assert len(seen) >= count

    return check


def refusal(reader: Consumer) -> str:
    """The error that the application is told, once it is one for good."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        message = reader.poll(0.2)
        error = None if message is None else message.error()
        if error is not None and error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            return error.str()
    raise AssertionError("it was never refused")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_is_not_admitted_is_told_so(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic, partitions=2)
    group = f"g-{topic}"
    first = member(bootstrap, group, protocol)
    first.subscribe([topic])
    eventually(owns(first, 2), within_s=TIMEOUT_S)
    configure(bootstrap, group, admission="closed")
    late = member(bootstrap, group, protocol)
    late.subscribe([topic])
    assert NOT_AUTHORIZED in refusal(late)
    late.close()
    owns(first, 2)()
    create(bootstrap, f"{topic}-another", partitions=1)
    configure(bootstrap, group, admission="declared", admission__topics=topic, max__size="1")
    stranger = member(bootstrap, group, protocol)
    stranger.subscribe([topic, f"{topic}-another"])
    assert NOT_AUTHORIZED in refusal(stranger)
    stranger.close()
    second = member(bootstrap, group, protocol)
    second.subscribe([topic])
    assert "maximum" in refusal(second)
    second.close()
    first.close()


@pytest.mark.parametrize(
    ("protocol", "strategy"), [("classic", "range"), ("classic", "cooperative-sticky"), ("consumer", None)]
)
def test_a_paused_group_reads_nothing_and_goes_on_where_it_was(
    bootstrap: str, topic: str, protocol: str, strategy: str | None
) -> None:
    create(bootstrap, topic, partitions=3)
    group = f"g-{topic}"
    config = {} if strategy is None else {"partition.assignment.strategy": strategy}
    readers = [member(bootstrap, group, protocol, **{"enable.auto.commit": True, **config}) for _ in range(2)]
    for reader in readers:
        reader.subscribe([topic])
    seen: list[str] = []

    def have(total: int) -> None:
        for reader in readers:
            owns(reader, len(reader.assignment()), seen)()
        assert sum(len(reader.assignment()) for reader in readers) == total

    def have_read(count: int) -> None:
        have(3)
        assert len(seen) == count

    eventually(lambda: have(3), within_s=TIMEOUT_S)
    configure(bootstrap, group, paused="true")
    eventually(lambda: have(0), within_s=TIMEOUT_S)
    produce(bootstrap, topic, [f"v{n}" for n in range(30)])
    for _ in range(4):
        have(0)
    assert seen == []
    configure(bootstrap, group, paused=None)
    eventually(lambda: have(3), within_s=TIMEOUT_S)
    eventually(lambda: have_read(30), within_s=TIMEOUT_S)
    assert sorted(seen) == sorted(f"v{n}" for n in range(30))
    for reader in readers:
        reader.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_drained_group_is_empty_with_its_progress_committed(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic, partitions=1)
    group = f"g-{topic}"
    reader = member(bootstrap, group, protocol, **{"enable.auto.commit": True, "auto.commit.interval.ms": 60_000})
    reader.subscribe([topic])
    produce(bootstrap, topic, ["a", "b", "c"])
    seen: list[str] = []
    eventually(has_read(reader, 3, seen), within_s=TIMEOUT_S)
    configure(bootstrap, group, drain="true")
    assert NOT_AUTHORIZED in refusal(reader)
    other = member(bootstrap, group, protocol)
    [committed] = other.committed([TopicPartition(topic, 0)], TIMEOUT_S)
    assert committed.offset == 3
    other.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)  # nobody is in it: its offsets may be reset
    reader.close()
    configure(bootstrap, group, drain=None)
    other.subscribe([topic])
    seen.clear()
    eventually(has_read(other, 2, seen), within_s=TIMEOUT_S)
    assert seen == ["b", "c"]
    other.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_begins_where_its_configuration_says(bootstrap: str, topic: str, protocol: str) -> None:
    """Whatever the client would have done: this one begins at the end."""
    create(bootstrap, topic, partitions=2)
    produce(bootstrap, topic, ["a", "b"])
    group = f"g-{topic}"
    configure(bootstrap, group, offsets__initial="earliest")
    reader = member(bootstrap, group, protocol, **{"auto.offset.reset": "latest"})
    reader.subscribe([topic])
    seen: list[str] = []
    eventually(has_read(reader, 2, seen), within_s=TIMEOUT_S)
    committed = reader.committed([TopicPartition(topic, number) for number in range(2)], TIMEOUT_S)
    assert [each.offset for each in committed] == [0, 0], "it is the group's own from then on"
    reader.close()


def test_aiokafka_is_told_too(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=1)
    configure(bootstrap, f"g-{topic}", admission="closed")

    async def scenario() -> None:
        reader = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}")
        with pytest.raises(GroupAuthorizationFailedError):
            await reader.start()
        await reader.stop()

    asyncio.run(scenario())


@needs_java
def test_kafkas_own_tools_set_it_and_java_is_told(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=1)
    group = f"g-{topic}"
    entity = ["--bootstrap-server", bootstrap, "--entity-type", "groups", "--entity-name", group]
    set_it = run_tool("kafka-configs", [*entity, "--alter", "--add-config", "admission=closed,max.size=7"])
    assert set_it.returncode == 0, set_it.stdout + set_it.stderr
    described = run_tool("kafka-configs", [*entity, "--describe"])
    assert "admission=closed" in described.stdout
    assert "max.size=7" in described.stdout
    tools = []
    for protocol in PROTOCOLS:
        options = ["--bootstrap-server", bootstrap, "--topic", topic, "--group", group]
        options += ["--command-property", f"group.protocol={protocol}", "--timeout-ms", "30000"]
        command = tool_command("kafka-console-consumer", options)
        tools.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for tool in tools:
        said, _ = tool.communicate(timeout=TIMEOUT_S)
        assert "GroupAuthorizationException" in said
        assert f"Not authorized to access group: {group}" in said

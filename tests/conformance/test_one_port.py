"""Everything works through the one port that a node has for clients: what other modules try directly, tried through it."""

import json
import shutil
from collections.abc import Callable, Iterator

import pytest
import test_aiokafka
import test_confluent
import test_consumer_protocol
import test_java_tools
import test_kcat
import test_share_groups
import test_transactions
from kafka_tools import run_tool
from one_port import Forwarder, node_behind_one_port

BY_ANY = (
    test_kcat.test_what_is_produced_is_consumed,
    test_kcat.test_a_group_goes_on_where_it_was,
    test_confluent.test_idempotent_produce_and_consume_in_order,
    test_confluent.test_three_members_split_the_partitions_and_survive_the_death_of_one,
    test_confluent.test_clients_go_on_over_many_metadata_refreshes,
    test_consumer_protocol.test_a_group_goes_from_one_protocol_to_the_other_and_back_when_empty,
    test_transactions.test_offsets_and_results_are_committed_together,
    test_transactions.test_aiokafka_transactions,
    test_aiokafka.test_produce_and_consume_in_a_group_with_commits,
)
BY_JAVA = (
    test_java_tools.test_console_producer_and_consumer,
    test_consumer_protocol.test_java_consumes_and_its_tools_describe,
    test_transactions.test_the_java_producer_writes_transactions,
)


@pytest.fixture(scope="module")
def one_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forwarder]:
    with node_behind_one_port(tmp_path_factory.mktemp("one-port")) as forwarder:
        yield forwarder


def test_clients_are_shown_one_node_at_that_port(one_port: Forwarder) -> None:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    listed = json.loads(test_kcat.kcat(one_port.address, "-L", "-J"))
    assert listed["brokers"] == [{"id": 0, "name": one_port.address}]


@pytest.mark.parametrize("scenario", BY_ANY, ids=lambda scenario: scenario.__name__.removeprefix("test_"))
def test_through_one_port(scenario: Callable[[str, str], None], one_port: Forwarder, topic: str) -> None:
    if scenario.__module__ == "test_kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    before = one_port.connections
    scenario(one_port.address, topic)
    assert one_port.connections > before


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
@pytest.mark.parametrize("scenario", BY_JAVA, ids=lambda scenario: scenario.__name__.removeprefix("test_"))
def test_java_through_one_port(scenario: Callable[[str, str], None], one_port: Forwarder, topic: str) -> None:
    scenario(one_port.address, topic)


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_a_share_group_through_one_port(one_port: Forwarder, topic: str) -> None:
    test_confluent.create(one_port.address, topic, 1)
    test_share_groups.configure(one_port.address, f"g-{topic}", share_auto_offset_reset="earliest")
    test_confluent.produce(one_port.address, topic, [f"v{n}" for n in range(20)])
    told = ["--bootstrap-server", one_port.address, "--topic", topic, "--group", f"g-{topic}"]
    result = run_tool("kafka-console-share-consumer", [*told, "--max-messages", "20", "--timeout-ms", "30000"])
    assert sorted(result.stdout.split()) == sorted(f"v{n}" for n in range(20)), result.stderr
    described = run_tool("kafka-share-groups", [*told[:2], "--describe", "--group", f"g-{topic}"])
    assert described.stdout.split()[-5:-3] == [f"g-{topic}", topic], described.stdout

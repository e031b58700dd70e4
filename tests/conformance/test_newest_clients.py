"""What came with Kafka 4.4, by its Java clients and by hand: whom a client means to reach, and offsets of topics by their ids."""

import shutil
from pathlib import Path
from uuid import UUID

import pytest
import servers
from ask import ask
from kafka_tools import run_tool
from message_copier import Copier
from raw_transactions import RawProducer
from test_exactly_once import RECORDS, create, fill, results

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


def greeting(bootstrap: str, cluster_id: str | None, node_id: int) -> ErrorCode:
    request = m.ApiVersionsRequest(
        client_software_name="test", client_software_version="1", cluster_id=cluster_id, node_id=node_id
    )
    return ErrorCode(ask(bootstrap, request, version=5)[0].error_code)


def cluster_id_of(bootstrap: str) -> str:
    (metadata,) = ask(bootstrap, m.MetadataRequest(topics=[]))
    return str(metadata.cluster_id)


def test_a_client_that_came_to_the_wrong_node_is_sent_to_look_again(
    node: servers.ServerProcess, cluster: servers.Cluster
) -> None:
    own = cluster_id_of(node.bootstrap)
    assert greeting(node.bootstrap, own, 0) is ErrorCode.NONE
    assert greeting(node.bootstrap, None, -1) is ErrorCode.NONE, "who knows nothing yet means whoever answers"
    assert greeting(node.bootstrap, None, 7) is ErrorCode.NONE
    assert greeting(node.bootstrap, own, 7) is ErrorCode.REBOOTSTRAP_REQUIRED
    other = cluster_id_of(cluster.bootstrap)
    assert greeting(node.bootstrap, other, 0) is ErrorCode.REBOOTSTRAP_REQUIRED
    (metadata,) = ask(cluster.bootstrap, m.MetadataRequest(topics=[]))
    for broker in metadata.brokers:  # coordinators are among them
        assert greeting(f"{broker.host}:{broker.port}", other, broker.node_id) is ErrorCode.NONE
        assert greeting(f"{broker.host}:{broker.port}", other, broker.node_id + 1) is ErrorCode.REBOOTSTRAP_REQUIRED


def commit_by_id(producer: RawProducer, topic_id: UUID, partition: int, *, member: str = "") -> ErrorCode:
    wanted = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
    request = m.TxnOffsetCommitRequest(
        transactional_id=producer.transactional_id,
        group_id=producer.group,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        member_id=member,
        generation_id_or_member_epoch=3 if member else -1,
        topics=[TxnOffsetCommitRequestTopic(topic_id=topic_id, partitions=[wanted])],
    )
    (answer,) = ask(producer.coordinator(producer.group, 0), request, version=6)
    assert answer.topics[0].topic_id == topic_id
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def test_offsets_of_a_transaction_are_committed_by_topic_ids(bootstrap: str, topic: str) -> None:
    producer = RawProducer(bootstrap, f"x-{topic}", topic)
    producer.create_topic()
    assert producer.init() is ErrorCode.NONE
    (metadata,) = ask(bootstrap, m.MetadataRequest(topics=[m.metadata.MetadataRequestTopic(name=topic)]), version=12)
    topic_id = metadata.topics[0].topic_id
    servers.eventually(lambda: _is(commit_by_id(producer, topic_id, 0), ErrorCode.NONE))
    assert commit_by_id(producer, topic_id, 9) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit_by_id(producer, UUID(int=7), 0) is ErrorCode.UNKNOWN_TOPIC_ID
    assert commit_by_id(producer, topic_id, 0, member="nobody") is ErrorCode.GROUP_ID_NOT_FOUND


def _is(found: ErrorCode, expected: ErrorCode) -> None:
    assert found is expected


@needs_java
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_its_console_tools_produce_and_consume(bootstrap: str, topic: str, protocol: str) -> None:
    def tool(name: str, *arguments: str, stdin: str | None = None) -> str:
        told = ["--bootstrap-server", bootstrap, "--topic", topic, *arguments]
        result = run_tool(name, told, stdin=stdin, timeout_s=90, with_newest_clients=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    lines = [f"line {number}" for number in range(100)]
    tool("kafka-topics", "--create", "--partitions", "3")
    tool("kafka-console-producer", stdin="".join(f"{line}\n" for line in lines))
    consume = ["--from-beginning", "--max-messages", "100", "--timeout-ms", "30000", "--group", f"g-{topic}"]
    consumed = tool("kafka-console-consumer", *consume, "--command-property", f"group.protocol={protocol}")
    assert sorted(consumed.splitlines()) == sorted(lines)


@needs_java
def test_its_producer_and_consumer_copy_exactly_once(bootstrap: str, topic: str, fresh: Path) -> None:
    source, target = f"{topic}-source", f"{topic}-target"
    create(bootstrap, source, target)
    expected = fill(bootstrap, source)
    copier = Copier(bootstrap, source, target, fresh / "copier.log", transaction_size=300, with_newest_clients=True)
    with copier.at_work():
        copier.wait_done()
    assert results(bootstrap, target, RECORDS) == expected

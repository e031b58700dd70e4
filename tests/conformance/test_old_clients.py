"""Clients that are years older than the protocol's newest versions: Kafka's own of 2.1, against us and against Kafka."""

import shutil
import subprocess
from pathlib import Path

import pytest
import servers
from ask import ask
from kafka_tools import HERE, KafkaUnavailable, fetched_jars
from wire_client import WireClient, produce_request

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceResponse, create_topics

TIMEOUT_S = 120
PRODUCE = 0


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler")
def test_a_java_client_of_2019_produces_commits_and_reads_in_transactions(anywhere: str, topic: str) -> None:
    try:
        jars = fetched_jars(HERE / "kafka" / "old_clients.xml", "kafka-clients-2.1.1")
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    wanted = create_topics.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    ask(anywhere, m.CreateTopicsRequest(topics=[wanted]))
    command = [
        "java",
        "-Xmx256M",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{jars}/*",
        str(HERE / "kafka" / "OldClient.java"),
    ]
    done = subprocess.run([*command, anywhere, topic], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    committed_before, read = done.stdout.splitlines()
    assert committed_before == "2", "the aborted transaction's offset does not count"
    assert read == "committed lz4 snappy zstd", "from that offset on, without what was aborted"


def test_a_coordinator_offers_produce_and_sends_producers_elsewhere(cluster: servers.Cluster, topic: str) -> None:
    """Java's producers up to 2.1 at least stop for good when any node they know of does not offer it."""
    (found,) = ask(cluster.bootstrap, m.FindCoordinatorRequest(coordinator_keys=[topic], key_type=1))
    coordinator = f"{found.coordinators[0].host}:{found.coordinators[0].port}"
    (told,) = ask(coordinator, m.ApiVersionsRequest(client_software_name="old", client_software_version="2.1.1"))
    offered = next(each for each in told.api_keys if each.api_key == PRODUCE)
    with WireClient(coordinator) as client:
        for version in range(3, offered.max_version + 1):
            answer = client.call(produce_request(topic, b""), version, ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        unanswered = produce_request(topic, b"")
        unanswered.acks = 0
        with pytest.raises(ConnectionError):
            client.call(unanswered, 9, ProduceResponse)


def test_offsets_may_be_the_first_that_a_cluster_hears_of_groups(fresh: Path, topic: str) -> None:
    """A producer of version 1 asks for its group's coordinator only after the group is part of the transaction."""
    with servers.node(fresh) as server:
        servers.eventually(lambda: _adds_a_group(server.bootstrap, topic), every_s=1)


def _adds_a_group(bootstrap: str, name: str) -> None:
    (found,) = ask(bootstrap, m.FindCoordinatorRequest(coordinator_keys=[name], key_type=1))
    assert found.coordinators[0].error_code == 0
    coordinator = f"{found.coordinators[0].host}:{found.coordinators[0].port}"
    (producer,) = ask(coordinator, m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000))
    assert producer.error_code == 0
    adding = m.AddOffsetsToTxnRequest(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=name,
    )
    (added,) = ask(coordinator, adding, version=3)
    assert added.error_code == 0

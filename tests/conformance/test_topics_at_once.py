"""A topic exists when its creation is answered: nothing that a client does next is lost, not even what nobody acknowledges."""

import pytest
from servers import ServerProcess
from wire_client import LIST_OFFSETS_VERSION, PRODUCE_VERSION, WireClient, framed, produce_request

from millstream_wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
)
from millstream_wire.messages.create_partitions import CreatePartitionsTopic
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.records import Record, encode_batch

PARTITIONS = 64
TIMES = 100
LATEST = -1
BATCH = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"at once")])


def produce_unacknowledged(client: WireClient, topic: str, partitions: range) -> None:
    for partition in partitions:
        request = produce_request(topic, BATCH, partition)
        request.acks = 0
        client.socket.sendall(framed(request, PRODUCE_VERSION))


def ends(client: WireClient, topic: str, partitions: range) -> list[tuple[int, int]]:
    """Of each partition the error and the offset at its end."""
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in partitions]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=wanted)])
    answer = client.call(request, LIST_OFFSETS_VERSION, ListOffsetsResponse)
    return [(each.error_code, each.offset) for each in answer.topics[0].partitions]


def test_nothing_is_lost_that_is_produced_right_after_a_topic_was_created(node: ServerProcess, topic: str) -> None:
    with WireClient(node.bootstrap) as client:
        for time in range(TIMES):
            name = f"{topic}-{time}"
            client.create_topic(name, partitions=PARTITIONS)
            produce_unacknowledged(client, name, range(PARTITIONS))
            assert ends(client, name, range(PARTITIONS)) == [(0, 1)] * PARTITIONS, f"time {time}"
            request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)
            assert client.call(request, 4, DeleteTopicsResponse).responses[0].error_code == 0
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            [found] = client.call(asked, 8, MetadataResponse).topics
            assert found.error_code == 3, "a topic whose deletion is answered is unknown"


def test_nothing_is_lost_that_is_produced_right_after_a_topic_has_grown(node: ServerProcess, topic: str) -> None:
    with WireClient(node.bootstrap) as client:
        client.create_topic(topic)
        grown = CreatePartitionsTopic(name=topic, count=PARTITIONS, assignments=None)
        request = CreatePartitionsRequest(topics=[grown], timeout_ms=30_000)
        assert client.call(request, 2, CreatePartitionsResponse).results[0].error_code == 0
        produce_unacknowledged(client, topic, range(1, PARTITIONS))
        assert ends(client, topic, range(1, PARTITIONS)) == [(0, 1)] * (PARTITIONS - 1)


@pytest.mark.parametrize("name", ["a b", "", "x" * 250])
def test_a_topic_that_is_refused_is_answered_at_once(node: ServerProcess, name: str) -> None:
    with WireClient(node.bootstrap) as client, pytest.raises(AssertionError, match="error_code=17"):
        client.create_topic(name)

"""What data a client may read and write, with real logs: also of requests that wait, and of nodes, who are asked nothing."""

import asyncio
from typing import Any

import pytest
from test_fetch import fetch, partitions, produce

from millstream_cluster import records as r
from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import NodeId
from millstream_runtime.serving.context import CloseConnection
from millstream_runtime.serving.peer import NodePeer
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeProducersRequest, ListOffsetsRequest, ProduceRequest
from millstream_wire.messages.describe_producers import TopicRequest
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NODE = NodePeer.of(NodeId(2))


def produced(node: Any, batch: Any, *topics: str, version: int = 9, acks: int = 1, **more: Any) -> list[int]:
    ids = {name: node.image.topic(name).topic_id for name in topics} if version >= 13 else {}
    data = [
        TopicProduceData(
            **({"topic_id": ids[name]} if ids else {"name": name}),
            partition_data=[PartitionProduceData(index=0, records=batch("v"))],
        )
        for name in topics
    ]
    reply = node.call(ProduceRequest(acks=acks, topic_data=data), version, **more)
    if ids:
        told = {answer.topic_id: answer for answer in reply.responses}
        return [told[ids[name]].partition_responses[0].error_code for name in topics]
    by_name = {answer.name: answer for answer in reply.responses}
    return [by_name[name].partition_responses[0].error_code for name in topics]


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_batch_is_written_where_it_may_be_and_the_others_are_refused(node: Any, batch: Any, version: int) -> None:
    node.create_topic("mine")
    node.create_topic("theirs")
    node.close()
    granted = node.grant(AclOperation.WRITE, "mine")
    assert produced(node, batch, "mine", version=version) == [ErrorCode.NONE]
    assert produced(node, batch, "theirs", version=version) == [DENIED]
    assert produced(node, batch, "theirs", "mine", version=version) == [DENIED, ErrorCode.NONE]
    assert node.replica("mine").log.log_end_offset == 2
    assert node.replica("theirs").log.log_end_offset == 0
    node.learn(r.AclRemoved(granted))
    assert produced(node, batch, "mine", version=version) == [DENIED]


def test_nobody_learns_by_writing_what_there_is(node: Any, batch: Any) -> None:
    node.create_topic("theirs")
    node.close()
    assert produced(node, batch, "theirs") == produced(node, batch, "none") == [DENIED]


def test_who_waits_for_no_answer_is_cut_off_after_what_he_may_write_is_written(node: Any, batch: Any) -> None:
    node.create_topic("mine")
    node.create_topic("theirs")
    node.close()
    node.grant(AclOperation.WRITE, "mine")
    with pytest.raises(CloseConnection):
        produced(node, batch, "mine", "theirs", acks=0)
    assert node.replica("mine").log.log_end_offset == 1


def test_a_node_is_asked_for_nothing(node: Any, batch: Any) -> None:
    node.create_topic("t")
    node.close()
    assert produced(node, batch, "t", peer=NODE) == [ErrorCode.NONE]
    (read,) = partitions(node.call(fetch(topic="t"), 12, peer=NODE))
    assert read.error_code == ErrorCode.NONE


def test_what_may_be_read_is_and_the_rest_is_refused(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders", partitions=2)
    produce(node, batch("a"))
    node.close()
    (read,) = partitions(node.call(fetch(), 12))
    assert (read.error_code, read.high_watermark, len(read.records)) == (DENIED, -1, 0)
    (read,) = partitions(node.call(fetch(isolation_level=1), 12))
    assert read.aborted_transactions == []  # as Kafka has it of what it does not even look for
    node.grant(AclOperation.READ, "orders")
    (read,) = partitions(node.call(fetch(), 12))
    assert values(read.records) == [(0, "a")]


def test_a_right_that_is_taken_away_while_a_fetch_waits_counts(node: Any, batch: Any) -> None:
    async def scenario() -> None:
        node.create_topic("orders")
        node.close()
        granted = node.grant(AclOperation.READ, "orders")
        waiting = node.call(fetch(max_wait_ms=10_000, min_bytes=1), 12)
        await asyncio.sleep(0)
        node.learn(r.AclRemoved(granted))
        produced(node, batch, "orders", peer=NODE)
        (read,) = partitions(node.as_read(1, await waiting, 12))
        assert (read.error_code, len(read.records)) == (DENIED, 0)

    asyncio.run(scenario())


def test_nobody_fetches_as_a_replica_who_may_not_act_for_the_cluster(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    node.close()
    node.grant(AclOperation.READ, "orders")
    node.grant(AclOperation.READ, "none")
    for topic in ("orders", "none"):
        (read,) = partitions(node.call(fetch(replica_id=2, topic=topic), 12))
        assert read.error_code == DENIED


def test_describing_follows_from_writing(node: Any) -> None:
    node.create_topic("mine")
    node.close()
    node.grant(AclOperation.WRITE, "mine")
    asked = [
        ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
        for name in ("mine", "theirs")
    ]
    reply = node.call(ListOffsetsRequest(topics=asked), 7)
    assert {topic.name: topic.partitions[0].error_code for topic in reply.topics} == {"mine": 0, "theirs": DENIED}


def test_what_is_no_name_is_refused_for_that_whoever_asks(node: Any) -> None:
    node.close()
    asked = [TopicRequest(name=name, partition_indexes=[0]) for name in ("no name!", "theirs")]
    reply = node.call(DescribeProducersRequest(topics=asked), 0)
    codes = {topic.name: topic.partitions[0].error_code for topic in reply.topics}
    assert codes == {"no name!": ErrorCode.INVALID_TOPIC_EXCEPTION, "theirs": DENIED}


def test_a_transaction_needs_its_id_first(node: Any, batch: Any) -> None:
    node.create_topic("mine")
    node.close()
    node.grant(AclOperation.WRITE, "mine")
    request = ProduceRequest(
        acks=-1,
        transactional_id="x",
        topic_data=[TopicProduceData(name="mine", partition_data=[PartitionProduceData(index=0, records=batch("v"))])],
    )
    (answer,) = node.call(request, 9).responses
    assert answer.partition_responses[0].error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    node.grant(AclOperation.WRITE, "x", AclResource.TRANSACTIONAL_ID)
    (answer,) = node.call(request, 9).responses
    assert answer.partition_responses[0].error_code not in (DENIED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

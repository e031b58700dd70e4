"""The APIs that a broker answers from its Image, and those it refuses or hands on."""

import asyncio
from typing import Any

import pytest

from millstream_broker.api import HANDLERS
from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, NodeId
from millstream_wire.api import API, ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListGroupsRequest,
    MetadataRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.describe_log_dirs import DescribableLogDirTopic
from millstream_wire.messages.metadata import MetadataRequestTopic


def test_a_missing_topic_is_asked_for_once_the_metadata_is_known(node: Any) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new"), MetadataRequestTopic(name="a b")])
    node.call(request, 9)
    assert node.broker.topic_creation.wanted == []
    node.broker.topic_creation.enabled = True
    reply = node.call(request, 9)
    assert [topic.error_code for topic in reply.topics] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    node.call(MetadataRequest(topics=[MetadataRequestTopic(name="other")], allow_auto_topic_creation=False), 9)
    assert node.broker.topic_creation.wanted == ["new"]
    assert (
        asyncio.run(node.call_async(FindCoordinatorRequest(key="group"), 2)).error_code
        == ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
    assert node.broker.topic_creation.wanted == ["new", "__consumer_offsets"]


def test_clients_are_held_until_there_is_a_cluster_to_tell_of(node: Any) -> None:
    async def scenario() -> None:
        for number in (1, 2):
            node.learn(r.NodeFenced(NodeId(number), BrokerEpoch(number)))
        held = asyncio.ensure_future(node.call_async(MetadataRequest(topics=[]), 9))
        await asyncio.sleep(0)
        assert not held.done()
        node.learn(r.NodeUnfenced(NodeId(2), BrokerEpoch(2)))
        assert [broker.node_id for broker in (await held).brokers] == [2]

    asyncio.run(scenario())


def test_producer_ids_come_from_blocks(node: Any) -> None:
    from millstream_broker.core.producer_ids import ProducerIdBlock

    empty = node.call(InitProducerIdRequest(transactional_id=None), 4)
    assert empty.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    node.broker.producer_ids.add(ProducerIdBlock(5000, 6000))
    replies = [node.call(InitProducerIdRequest(transactional_id=None), 4) for _ in range(2)]
    assert [(reply.error_code, reply.producer_id, reply.producer_epoch) for reply in replies] == [
        (0, 5000, 0),
        (0, 5001, 0),
    ]
    transactional = node.call(InitProducerIdRequest(transactional_id="t"), 4)
    assert transactional.error_code == ErrorCode.NOT_COORDINATOR


def test_log_dirs(node: Any) -> None:
    node.create_topic("orders", partitions=2)
    node.create_topic("others")
    (everything,) = node.call(DescribeLogDirsRequest(topics=None), 4).results
    assert [(topic.name, len(topic.partitions)) for topic in everything.topics] == [("orders", 2), ("others", 1)]
    assert (everything.total_bytes, everything.usable_bytes) == (1000, 500)
    some = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="orders", partitions=[1, 9])])
    (result,) = node.call(some, 4).results
    assert [[p.partition_index for p in topic.partitions] for topic in result.topics] == [[1]]


def test_no_groups_are_here(node: Any) -> None:
    assert node.call(ListGroupsRequest(), 4).groups == []


GROUP_APIS = [key for key, handler in HANDLERS.items() if handler.handle.__name__ == "handle_group_request"]


@pytest.mark.parametrize("key", GROUP_APIS)
def test_group_requests_are_sent_elsewhere(node: Any, key: ApiKey) -> None:
    reply = node.call(API[key].request(), 7 if key is ApiKey.OFFSET_FETCH else API[key].versions[1])
    assert getattr(reply, "error_code", ErrorCode.NOT_COORDINATOR) == ErrorCode.NOT_COORDINATOR


def test_what_belongs_to_a_controller_that_is_away_is_refused_item_by_item(new_broker: Any, tmp_path: Any) -> None:
    node = new_broker(tmp_path / "away", request_timeout_ms=50)
    node.start()
    request = CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")])

    async def scenario() -> Any:
        return await asyncio.ensure_future(node.call_async(request, 5))

    reply = asyncio.run(scenario())
    assert [(topic.name, topic.error_code) for topic in reply.topics] == [
        ("a", ErrorCode.REQUEST_TIMED_OUT),
        ("b", ErrorCode.REQUEST_TIMED_OUT),
    ]
    node.partitions.abandon()

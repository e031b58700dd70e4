"""What Fetch returns, when it waits, and what its sessions leave out, with a real log behind it."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse, ProduceRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.schema import ZERO_UUID


def fetch(
    offsets: dict[int, int] | None = None,
    *,
    topic: str = "orders",
    topic_id: UUID = ZERO_UUID,
    partition_max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    **fields: Any,
) -> FetchRequest:
    partitions = [
        FetchPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=leader_epoch,
        )
        for index, offset in ({0: 0} if offsets is None else offsets).items()
    ]
    topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=partitions)] if partitions else []
    return FetchRequest(topics=topics, **fields)


def produce(node: Any, *batches: bytes, index: int = 0, topic: str = "orders") -> None:
    for batch in batches:
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=batch)])
        reply = node.call(ProduceRequest(acks=1, topic_data=[data]), 9)
        assert reply.responses[0].partition_responses[0].error_code == 0


def partitions(reply: Any) -> Sequence[Any]:
    return [partition for topic in reply.responses for partition in topic.partitions]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version(node: Any, batch: Any, values: Any, version: int) -> None:
    topic_id = node.create_topic("orders")
    produce(node, batch("a", "b"))
    (data,) = partitions(node.call(fetch(topic_id=topic_id), version))
    assert values(data.records) == [(0, "a"), (1, "b")]
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 2, 2)


def test_whole_batches_come_even_from_their_middle(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders")
    produce(node, batch("a", "b"), batch("c", "d"), batch("e"))
    (data,) = partitions(node.call(fetch({0: 3}), 11))
    assert values(data.records) == [(2, "c"), (3, "d"), (4, "e")]


def test_limits_cut_between_batches_but_the_first_always_comes(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders", partitions=2)
    big = batch("x" * 1000)
    produce(node, big, big, index=0)
    produce(node, big, index=1)
    first, second = partitions(node.call(fetch({0: 0, 1: 0}, partition_max_bytes=10), 11))
    assert [len(values(data.records or b"")) for data in (first, second)] == [1, 0]
    first, second = partitions(node.call(fetch({0: 0, 1: 0}, max_bytes=len(big) + 10), 11))
    assert [len(values(data.records or b"")) for data in (first, second)] == [1, 0]
    first, second = partitions(node.call(fetch({0: 0, 1: 0}), 11))
    assert [len(values(data.records or b"")) for data in (first, second)] == [2, 1]


def test_errors_come_at_once(node: Any, batch: Any) -> None:
    topic_id = node.create_topic("orders")
    produce(node, batch("a"))
    waiting = {"max_wait_ms": 60_000, "min_bytes": 1 << 20}
    for request, version, code in [
        (fetch({0: 2}, **waiting), 11, ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch({0: -1}, **waiting), 11, ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch({7: 0}, **waiting), 11, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (fetch(topic="gone", **waiting), 11, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (fetch(topic_id=UUID(int=5), **waiting), 13, ErrorCode.UNKNOWN_TOPIC_ID),
        (fetch(topic_id=topic_id, leader_epoch=2, **waiting), 13, ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(topic_id=topic_id, leader_epoch=4, **waiting), 13, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ]:
        (data,) = partitions(node.call(request, version))
        assert (data.error_code, data.high_watermark, data.records) == (code, -1, b"")


def test_a_moved_leader_is_named(node: Any) -> None:
    topic_id = node.create_topic("elsewhere", leader=2)
    reply = node.call(fetch(topic_id=topic_id), 16)
    (data,) = partitions(reply)
    assert (data.error_code, data.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)
    assert [(endpoint.node_id, endpoint.port) for endpoint in reply.node_endpoints] == [(2, 9092)]


def test_a_fetch_waits_for_an_append(node: Any, batch: Any, values: Any) -> None:
    async def scenario() -> None:
        node.create_topic("orders")
        waiting = node.call(fetch(min_bytes=1, max_wait_ms=60_000), 11)
        await asyncio.sleep(0)
        assert not waiting.done()
        produce(node, batch("a"))
        assert values_of(node.as_read(ApiKey.FETCH, await waiting, 11), values) == [(0, "a")]
        assert len(node.delays) == 0

    asyncio.run(scenario())


def test_a_fetch_waits_for_enough_bytes_and_no_longer_than_asked(node: Any, batch: Any, values: Any) -> None:
    async def scenario() -> None:
        node.create_topic("orders")
        produce(node, batch("a"))
        size = len(batch("a"))
        waiting = node.call(fetch(min_bytes=3 * size, max_wait_ms=60_000), 11)
        produce(node, batch("b"))
        assert not waiting.done()
        produce(node, batch("c"))
        assert len(values_of(node.as_read(ApiKey.FETCH, await waiting, 11), values)) == 3
        began = asyncio.get_running_loop().time()
        late = await node.call(fetch(min_bytes=100 * size, max_wait_ms=30), 11)
        assert len(values_of(node.as_read(ApiKey.FETCH, late, 11), values)) == 3
        assert 0.02 < asyncio.get_running_loop().time() - began < 5

    asyncio.run(scenario())


def test_a_waiting_fetch_hears_of_a_lost_leadership_and_of_a_lost_client(node: Any) -> None:
    from millstream_cluster import records as r
    from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch

    async def scenario() -> None:
        topic_id = node.create_topic("orders")
        waiting = node.call(fetch(min_bytes=1, max_wait_ms=60_000), 11)
        gone = node.call(fetch(min_bytes=1, max_wait_ms=60_000), 11)
        gone.cancel()
        await asyncio.sleep(0)
        assert len(node.delays) == 1
        us = (NodeId(1),)
        node.learn(r.PartitionChanged(topic_id, 0, us, us, NodeId(-1), LeaderEpoch(4), PartitionEpoch(1)))
        (data,) = partitions(await waiting)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    asyncio.run(scenario())


def test_a_session_tells_only_news(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders", partitions=3)
    full = node.call(fetch({0: 0, 1: 0, 2: 0}, session_epoch=0), 11)
    assert full.session_id > 0
    assert len(partitions(full)) == 3
    session = {"session_id": full.session_id}
    assert partitions(node.call(fetch({}, session_epoch=1, **session), 11)) == []
    produce(node, batch("a"), index=1)
    (news,) = partitions(node.call(fetch({}, session_epoch=2, **session), 11))
    assert (news.partition_index, values(news.records)) == (1, [(0, "a")])
    assert partitions(node.call(fetch({1: 1}, session_epoch=3, **session), 11)) == []
    forgetful = fetch({}, session_epoch=4, **session)
    forgetful.forgotten_topics_data = [ForgottenTopic(topic="orders", partitions=[1])]
    node.call(forgetful, 11)
    produce(node, batch("b"), index=1)
    assert partitions(node.call(fetch({}, session_epoch=5, **session), 11)) == []


def test_session_errors(node: Any) -> None:
    topic_id = node.create_topic("orders")
    full = node.call(fetch(session_epoch=0), 11)
    unknown = node.call(fetch({}, session_id=full.session_id + 1, session_epoch=1), 11)
    assert (unknown.error_code, unknown.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    wrong = node.call(fetch({}, session_id=full.session_id, session_epoch=5), 11)
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    by_id = node.call(fetch(topic_id=topic_id, session_id=full.session_id, session_epoch=1), 13)
    assert by_id.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    closed = node.call(fetch(session_id=full.session_id, session_epoch=-1), 11)
    assert (closed.error_code, closed.session_id) == (0, 0)
    gone = node.call(fetch({}, session_id=full.session_id, session_epoch=1), 11)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_partitions_take_turns_within_a_session(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders", partitions=2)
    for index in (0, 1):
        produce(node, batch("x" * 500), batch("y" * 500), index=index)
    full = node.call(fetch({0: 0, 1: 0}, session_epoch=0, max_bytes=100), 11)
    served = [data.partition_index for data in partitions(full) if data.records]
    again = node.call(fetch({0: 1}, session_id=full.session_id, session_epoch=1, max_bytes=100), 11)
    served += [data.partition_index for data in partitions(again) if data.records]
    assert served == [0, 1]


def values_of(reply: FetchResponse, values: Any) -> list[tuple[int, str]]:
    found = []
    for data in partitions(reply):
        found += values(bytes(data.records))
    return found

"""What a leader with a follower tells readers, administrators and the follower itself, while the two are not at the same offset."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from replicated_scene import FOLLOWER, LONG_MS, US, Replicated, fetched, produced, settled

from millstream_cluster import records as r
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteRecordsRequest, ListOffsetsRequest
from millstream_wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3


@pytest.fixture
def topic(tmp_path: Path, new_broker: Any) -> Iterator[Replicated]:
    node = new_broker(tmp_path / "data")
    node.start()
    yield Replicated(node)
    for hosted in node.partitions:
        hosted.check()
    node.partitions.abandon()


async def listed(topic: Replicated, timestamp: int, version: int = 7, replica_id: int = -1) -> tuple[ErrorCode, int]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=-1)
    request = ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    (data,) = (await topic.ask(request, version)).result().topics[0].partitions
    return ErrorCode(data.error_code), data.offset


async def delete(topic: Replicated, offset: int, timeout_ms: int = LONG_MS) -> "asyncio.Task[Any]":
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=timeout_ms)
    return await topic.ask(request, 2)


def deleted(answer: "asyncio.Task[Any]") -> tuple[ErrorCode, int]:
    (data,) = answer.result().topics[0].partitions
    return ErrorCode(data.error_code), data.low_watermark


# ---- a new leader (KIP-207) ----


def test_nobody_is_told_an_end_that_is_lower_than_one_told_before(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a", timestamp=1_000), acks=1)
        await topic.produce(batch("b", timestamp=2_000), batch("c", timestamp=3_000), acks=1)
        await topic.follow(1)
        topic.assign(leader=FOLLOWER, leader_epoch=4)
        topic.assign(leader=US, leader_epoch=5)
        unknown = (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
        for timestamp in LATEST, MAX_TIMESTAMP, 2_000, 9_000:
            assert await listed(topic, timestamp) == unknown
        assert await listed(topic, LATEST, version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        assert await listed(topic, 1_000) == (ErrorCode.NONE, 0), "what is below is known"
        assert await listed(topic, EARLIEST) == (ErrorCode.NONE, 0)
        assert await listed(topic, LATEST, replica_id=FOLLOWER) == (ErrorCode.NONE, 3)
        await topic.follow(2)
        assert await listed(topic, LATEST) == unknown
        await topic.follow(3)
        assert await listed(topic, LATEST) == (ErrorCode.NONE, 3)
        assert await listed(topic, 9_000) == (ErrorCode.NONE, -1)

    asyncio.run(scene())


def test_a_reader_who_knows_more_than_a_new_leader_waits(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), batch("b"), acks=1)
        topic.assign(leader=FOLLOWER, leader_epoch=4)
        topic.assign(leader=US, leader_epoch=5)
        reader = await topic.fetch(1, max_wait_ms=LONG_MS, min_bytes=1)
        assert not reader.done()
        await topic.follow(2)
        await settled()
        assert fetched(reader).error_code == ErrorCode.NONE
        assert len(fetched(reader).records) > 0

    asyncio.run(scene())


# ---- followers ----


def test_a_follower_that_is_out_of_range_is_told_where_to_begin(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), batch("b"), acks=1)
        await topic.follow(2)
        await delete(topic, 1)
        for reader in {"replica": FOLLOWER, "epoch": 2, "leader": 3}, {}:
            data = fetched(await topic.fetch(0, **reader))
            assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert data.log_start_offset == (1 if reader else -1)

    asyncio.run(scene())


def test_what_is_out_of_range_says_nothing_of_how_far_a_follower_is(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        data = fetched(await topic.fetch(2, replica=FOLLOWER, epoch=2, leader=3))
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert topic.node.replica("t").partition.high_watermark == 0

    asyncio.run(scene())


def test_a_follower_that_does_not_say_whom_it_follows_commits_nothing(topic: Replicated, batch: Any) -> None:
    """It may have fetched for an epoch that is over, in which its log was another."""

    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        data = fetched(await topic.fetch(1, replica=FOLLOWER, epoch=2))
        assert (data.error_code, data.high_watermark) == (ErrorCode.NONE, 0)

    asyncio.run(scene())


def test_a_fetch_says_how_far_its_sender_was_when_it_arrived(topic: Replicated, batch: Any) -> None:
    """KIP-501: what comes while it waits here is nothing that the follower has seen."""

    async def scene() -> None:
        waiting = await topic.fetch(0, replica=FOLLOWER, epoch=2, leader=3, max_wait_ms=LONG_MS, min_bytes=1)
        await topic.produce(batch("a"), acks=1)
        await settled()
        assert waiting.done()
        progress = topic.node.replica("t").partition.follower(FOLLOWER)
        assert (progress.end_offset, progress.leader_end_offset) == (0, 0)
        await topic.follow(1)
        assert (progress.end_offset, progress.leader_end_offset) == (1, 1)

    asyncio.run(scene())


def test_a_smaller_least_of_replicas_commits_what_waited(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        topic.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "2"))
        waiting = await topic.produce(batch("a"))
        topic.assign(isr=(US,))
        await settled()
        assert not waiting.done()
        topic.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "1"))
        await settled()
        assert produced(waiting) == (ErrorCode.NONE, 0)

    asyncio.run(scene())


def test_what_a_topic_asks_for_counts_before_who_leads_it(
    topic: Replicated, batch: Any, tmp_path: Path, new_broker: Any
) -> None:
    """After a restart a leader that is alone in sync must not take that for enough."""

    async def before() -> None:
        topic.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "2"))
        topic.assign(isr=(US,))
        await topic.produce(batch("a"), acks=1)

    asyncio.run(before())
    topic.node.partitions.close(1)
    node = new_broker(tmp_path / "data")
    image = topic.node.image
    node.hosting.start(image)
    assert node.replica("t").partition.leads
    assert node.replica("t").partition.high_watermark == 0
    node.partitions.abandon()


# ---- deleted records ----


def test_records_are_deleted_when_the_follower_has_dropped_them_too(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), batch("b"), acks=1)
        await topic.follow(2)
        answer = await delete(topic, 2)
        assert not answer.done()
        assert (await topic.follow(2)).log_start_offset == 2
        await settled()
        assert not answer.done()
        await topic.follow(2, log_start=1)
        await settled()
        assert not answer.done()
        await topic.follow(2, log_start=2)
        await settled()
        assert deleted(answer) == (ErrorCode.NONE, 2)
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_a_follower_that_waits_learns_at_once_what_was_deleted(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        await topic.follow(1)
        waiting = await topic.fetch(1, replica=FOLLOWER, epoch=2, leader=3, max_wait_ms=LONG_MS, min_bytes=1)
        answer = await delete(topic, -1)
        assert fetched(waiting).log_start_offset == 1
        answer.cancel()
        await settled()
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_a_follower_that_is_not_alive_is_not_waited_for(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        await topic.follow(1)
        topic.node.learn(r.NodeFenced(FOLLOWER, topic.node.image.node(FOLLOWER).epoch))
        assert deleted(await delete(topic, 1)) == (ErrorCode.NONE, 1)

    asyncio.run(scene())


def test_who_deletes_waits_no_longer_than_it_says(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        await topic.follow(1)
        answer = await delete(topic, 1, timeout_ms=1)
        await asyncio.wait([answer])
        assert deleted(answer) == (ErrorCode.REQUEST_TIMED_OUT, -1)

    asyncio.run(scene())


def test_who_deletes_is_sent_to_the_next_leader(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        await topic.follow(1)
        answer = await delete(topic, 1)
        topic.assign(leader=FOLLOWER, leader_epoch=4)
        await settled()
        assert deleted(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    asyncio.run(scene())

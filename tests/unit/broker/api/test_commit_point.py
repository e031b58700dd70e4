"""A partition with two replicas, led here: what waits for the follower, what does not, and what a change of leader says to it.

The follower is its fetches; nothing else of it is there.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from replicated_scene import FOLLOWER, LONG_MS, US, Replicated, ended, fetched, produced, settled

from millstream_cluster import records as r
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListOffsetsRequest
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic


@pytest.fixture
def topic(tmp_path: Path, new_broker: Any) -> Iterator[Replicated]:
    node = new_broker(tmp_path / "data", verifies_transactions=False)
    node.start()
    yield Replicated(node)
    for hosted in node.partitions:
        hosted.check()
    node.partitions.abandon()


# ---- producers ----


def test_acks_all_waits_for_the_follower_and_acks_1_does_not(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        assert produced(await topic.produce(batch("a"), acks=1)) == (ErrorCode.NONE, 0)
        waiting = await topic.produce(batch("b"))
        several = await topic.produce(batch("c"), batch("d"))
        assert (await topic.follow(1)).high_watermark == 1
        assert not waiting.done()
        await topic.follow(2)
        await settled()
        assert produced(waiting) == (ErrorCode.NONE, 1)
        await topic.follow(3)
        assert not several.done()
        await topic.follow(4)
        await settled()
        answers = several.result().responses[0].partition_responses
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, 2), (0, 3)]
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_a_repeated_batch_is_acknowledged_when_the_first_is_committed(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        same = batch("a", producer_id=7, producer_epoch=0, base_sequence=0)
        first = await topic.produce(same, acks=1)
        assert first.done()
        again = await topic.produce(same)
        assert not again.done(), "the first may still be lost"
        await topic.follow(1)
        await settled()
        assert produced(again) == (ErrorCode.NONE, 0)
        assert produced(await topic.produce(same)) == (ErrorCode.NONE, 0)

    asyncio.run(scene())


@pytest.mark.parametrize(
    "change", [{"leader": FOLLOWER, "leader_epoch": 4}, {"leader": US, "leader_epoch": 4}, {"leader": -1}]
)
def test_who_waits_learns_that_the_leader_epoch_is_over(topic: Replicated, batch: Any, change: Any) -> None:
    async def scene() -> None:
        waiting = await topic.produce(batch("a"))
        topic.assign(**change)
        await settled()
        assert produced(waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    asyncio.run(scene())


def test_who_waits_learns_that_the_topic_is_gone(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        producer = await topic.produce(batch("a"))
        consumer = await topic.fetch(0, max_wait_ms=LONG_MS, min_bytes=1)
        topic.node.learn(r.TopicDeleted(topic.topic_id))
        await settled()
        assert produced(producer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        assert fetched(consumer).error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_a_restart_goes_on_from_the_high_watermark_that_was_stored(
    topic: Replicated, batch: Any, tmp_path: Path, new_broker: Any
) -> None:
    async def before() -> None:
        await topic.produce(batch("a"), batch("b"), acks=1)
        await topic.follow(1)

    asyncio.run(before())
    topic.node.partitions.close(1)
    node = new_broker(tmp_path / "data", verifies_transactions=False)
    again = Replicated(node)
    node.start()

    async def after() -> None:
        assert fetched(await again.fetch(0)).high_watermark == 1
        assert (await again.follow(2)).high_watermark == 2

    asyncio.run(after())
    node.partitions.abandon()


def test_a_producer_waits_no_longer_than_it_says(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        waiting = await topic.produce(batch("a"), timeout_ms=1)
        await asyncio.wait([waiting])
        assert produced(waiting) == (ErrorCode.REQUEST_TIMED_OUT, -1)
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_a_producer_that_goes_away_is_forgotten(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        waiting = await topic.produce(batch("a"), batch("b"))
        waiting.cancel()
        await settled()
        assert len(topic.node.delays) == 0
        topic.node.replica("t").partition.check()
        await topic.follow(2)

    asyncio.run(scene())


def test_a_smaller_isr_acknowledges_unless_that_is_too_small(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        waiting = await topic.produce(batch("a"))
        topic.assign(isr=(US,))
        await settled()
        assert produced(waiting) == (ErrorCode.NONE, 0)
        topic.assign()
        topic.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "2"))
        waiting = await topic.produce(batch("b"))
        topic.assign(isr=(US,))
        await settled()
        assert not waiting.done(), "KIP-966: it is on fewer replicas than the topic asks for"
        assert produced(await topic.produce(batch("c")))[0] == ErrorCode.NOT_ENOUGH_REPLICAS
        await topic.follow(2)
        topic.assign()
        await settled()
        assert produced(waiting) == (ErrorCode.NONE, 1)
        waiting = await topic.produce(batch("d"))
        await topic.fetch(3, replica=FOLLOWER, epoch=2, leader=3)
        topic.assign(isr=(US,))
        await settled()
        assert produced(waiting)[0] == ErrorCode.NONE


def test_a_producer_is_told_that_too_few_are_left_with_its_batch(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        waiting = await topic.produce(batch("a"), batch("b"))
        replica, follower = topic.node.replica("t"), {"replica_id": FOLLOWER, "broker_epoch": 2}
        topic.node.broker.fetched(replica, 2, **follower, arrived_ms=0, log_start_offset=0)
        topic.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "2"))
        topic.assign(isr=(US,))
        await settled()
        assert produced(waiting)[0] == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    asyncio.run(scene())


# ---- readers ----


def test_consumers_wait_for_the_high_watermark_and_followers_for_the_log(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        consumer = await topic.fetch(0, max_wait_ms=LONG_MS, min_bytes=1)
        follower = await topic.fetch(0, replica=FOLLOWER, epoch=2, max_wait_ms=LONG_MS, min_bytes=1)
        await topic.produce(batch("a"), acks=1)
        await settled()
        assert len(fetched(follower).records) > 0
        assert not consumer.done()
        await topic.follow(1)
        await settled()
        assert len(fetched(consumer).records) > 0

    asyncio.run(scene())


def test_what_is_not_committed_is_not_told_to_consumers(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), batch("b"), acks=1)
        await topic.follow(1)
        data = fetched(await topic.fetch(0))
        assert (data.high_watermark, data.last_stable_offset, len(data.records)) == (1, 1, len(batch("a")))
        data = fetched(await topic.fetch(2))
        assert (data.error_code, data.records) == (ErrorCode.NONE, b"")
        asked = ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
        assert (await topic.ask(request, 5)).result().topics[0].partitions[0].offset == 1

    asyncio.run(scene())


def test_enough_bytes_have_to_be_readable_and_not_only_there(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        size = len(batch("a"))
        for _ in range(4):
            await topic.produce(batch("a"), acks=1)
        waiting = await topic.fetch(0, max_wait_ms=LONG_MS, min_bytes=3 * size)
        await topic.follow(2)
        await settled()
        assert not waiting.done()
        await topic.follow(3)
        await settled()
        assert len(fetched(waiting).records) == 3 * size

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("replica", "epoch", "leader", "code"),
    [
        (2, 2, 3, ErrorCode.NONE),
        (2, 1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, 3, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, -1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (3, 2, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (3, 2, 3, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (3, 2, 2, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_only_a_replica_in_its_present_life_reads_what_is_not_committed(
    topic: Replicated, batch: Any, replica: int, epoch: int, leader: int, code: ErrorCode
) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        data = fetched(await topic.fetch(1, replica=replica, epoch=epoch, leader=leader))
        assert data.error_code == code
        committed = topic.node.replica("t").partition.high_watermark
        assert committed == (1 if code is ErrorCode.NONE else 0), "nobody else commits anything"

    asyncio.run(scene())


def test_who_only_says_a_replica_id_reads_nothing(topic: Replicated, batch: Any) -> None:
    async def scene() -> None:
        await topic.produce(batch("a"), acks=1)
        data = fetched(await topic.fetch(1, replica=FOLLOWER, epoch=2, is_itself=False))
        assert (data.error_code, data.high_watermark) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)
        assert topic.node.replica("t").partition.high_watermark == 0

    asyncio.run(scene())


# ---- transactions ----


def test_a_transaction_is_over_for_readers_and_coordinators_once_its_marker_is_committed(
    topic: Replicated, batch: Any
) -> None:
    async def scene() -> None:
        within = batch("a", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        await topic.produce(within, acks=1, transactional_id="x")
        reader = await topic.fetch(0, max_wait_ms=LONG_MS, min_bytes=1, isolation_level=1)
        first = await topic.end(7, epoch=1, version=2)
        await topic.follow(1)
        again = await topic.end(7, epoch=1, version=2)
        assert [first.done(), again.done(), reader.done()] == [False, False, False]
        data = fetched(await topic.fetch(0, isolation_level=1))
        assert (data.high_watermark, data.last_stable_offset, data.records) == (1, 0, b"")
        await topic.follow(2)
        await settled()
        assert (ended(first), ended(again)) == (ErrorCode.NONE, ErrorCode.NONE)
        assert (fetched(reader).last_stable_offset, len(fetched(reader).records) > 0) == (2, True)
        assert ended(await topic.end(7, epoch=1, version=2)) == ErrorCode.NONE

    asyncio.run(scene())


def test_a_marker_that_was_there_before_is_waited_for_whatever_it_is_told(topic: Replicated, batch: Any) -> None:
    """Coordinators take INVALID_PRODUCER_EPOCH for "is there": true only of what cannot be lost."""

    async def scene() -> None:
        await topic.end(7, epoch=5)
        again = await topic.end(7, epoch=4)
        assert not again.done()
        await topic.follow(1)
        await settled()
        assert ended(again) == ErrorCode.INVALID_PRODUCER_EPOCH

    asyncio.run(scene())


def test_a_marker_of_an_epoch_that_is_over_is_to_be_sent_to_the_next_leader(topic: Replicated) -> None:
    async def scene() -> None:
        waiting = await topic.end(7)
        topic.assign(leader=FOLLOWER, leader_epoch=4)
        await settled()
        assert ended(waiting) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    asyncio.run(scene())


def test_a_reader_that_was_woken_for_less_than_it_needs_waits_on(topic: Replicated, batch: Any) -> None:
    """How much became readable with the first transaction's end is said too high: the second holds back the rest."""

    async def scene() -> None:
        topic.assign(isr=(US,))
        for producer_id in 7, 8:
            within = batch("a", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
            await topic.produce(within, acks=1, transactional_id="x")
        waiting = await topic.fetch(0, max_wait_ms=LONG_MS, min_bytes=len(within) + 1, isolation_level=1)
        assert ended(await topic.end(7)) == ErrorCode.NONE
        await settled()
        assert topic.node.replica("t").last_stable_offset == 1
        assert not waiting.done()
        assert ended(await topic.end(8)) == ErrorCode.NONE
        await settled()
        assert len(fetched(waiting).records) >= 2 * len(within)
        assert len(topic.node.delays) == 0

    asyncio.run(scene())


def test_who_waits_for_a_commit_holds_up_none_of_its_own_batches(topic: Replicated) -> None:
    async def scene() -> None:
        verification, is_committed = topic.node.broker.verification, asyncio.Event()

        async def append() -> Any:
            return acknowledge()

        async def acknowledge() -> str:
            await is_committed.wait()
            return "committed"

        answer = verification.in_turn(7, append)
        assert verification.is_busy(7)
        await settled()
        assert not verification.is_busy(7)
        cancelled = verification.in_turn(7, append)
        cancelled.cancel()
        await settled()
        assert not verification.is_busy(7)
        is_committed.set()
        assert await answer == "committed"

    asyncio.run(scene())

"""Consumers read from followers (KIP-392): brokers 1, 2 and 3 in racks a, b and c."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, NodeId
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.records import decode_batches

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]

CONSUMERS_SINCE = 11
LONG_MS = 15_000
RACKS = {1: "a", 2: "b", 3: "c"}


async def started(brokers: Any, *nodes: int, **settings: Any) -> list[Any]:
    settings = {"selects_closest_replica": True, **settings}
    return [await brokers.start(node, rack=RACKS[node], **settings) for node in nodes]


async def committed(brokers: Any, *values: str) -> None:
    """Each in a batch of its own, and every broker knows it."""
    end = 0
    for value in values:
        end = brokers.nodes[1].append(value)
    await brokers.until(lambda: all(node.replica().partition.high_watermark == end for node in brokers.nodes.values()))


def values(data: Any) -> list[str]:
    return [(record.value or b"").decode() for record in decode_batches(bytes(data.records or b""))]


def said(data: Any) -> tuple[ErrorCode, int, list[str]]:
    return ErrorCode(data.error_code), data.preferred_read_replica, values(data)


# ---- whom the leader sends where ----


def test_a_consumer_is_sent_to_the_follower_in_its_rack_and_reads_there(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a", "b")
        async with asyncio.timeout(1):
            sent = await brokers.fetch(1, 1, rack_id="b", min_bytes=1, max_wait_ms=LONG_MS)
        assert said(sent) == (ErrorCode.NONE, 2, [])
        assert (sent.high_watermark, sent.last_stable_offset, sent.log_start_offset) == (2, 2, 0)
        found = await brokers.fetch(2, 1, rack_id="b")
        assert said(found) == (ErrorCode.NONE, -1, ["b"])
        assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (2, 2, 0)
        assert brokers.nodes[2].broker.metrics.fetched_bytes > 0

    scene(scenario)


def test_others_read_from_the_leader(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        for rack in "", "a", "elsewhere":
            assert said(await brokers.fetch(1, 0, rack_id=rack)) == (ErrorCode.NONE, -1, ["a"])
        early = CONSUMERS_SINCE - 1
        assert said(await brokers.fetch(1, 0, version=early)) == (ErrorCode.NONE, -1, ["a"])
        assert (await brokers.fetch(2, 0, version=early)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert said(await brokers.fetch(2, 0, version=CONSUMERS_SINCE)) == (ErrorCode.NONE, -1, ["a"])

    scene(scenario)


def test_nobody_is_sent_anywhere_unless_the_selector_says_so(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2, selects_closest_replica=False)
        brokers.create(1, 2)
        await committed(brokers, "a")
        assert said(await brokers.fetch(1, 0, rack_id="b")) == (ErrorCode.NONE, -1, ["a"])

    scene(scenario)


def test_nobody_is_sent_to_a_broker_that_is_fenced(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        _, follower = await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        brokers.learn(r.NodeFenced(NodeId(2), BrokerEpoch(follower.epoch)))
        assert said(await brokers.fetch(1, 0, rack_id="b")) == (ErrorCode.NONE, -1, ["a"])

    scene(scenario)


def test_who_leaves_the_isr_serves_no_more(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2, 3)
        brokers.create(1, 2, 3)
        await committed(brokers, "a")
        waiting = brokers.begin(brokers.fetch(2, 1, rack_id="b", min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        assert not waiting.done()
        brokers.elect(1, isr=(1, 3), epochs=0)
        assert said(await brokers.fetch(1, 0, rack_id="b")) == (ErrorCode.NONE, -1, ["a"])
        refused = (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, [])
        assert said(await brokers.fetch(2, 0, rack_id="b")) == refused
        async with asyncio.timeout(1):
            assert said(await waiting) == refused, "who waits there is told at once"

    scene(scenario)


def test_a_session_is_told_again_and_again_whom_to_ask(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, _ = await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic_id=leader.replica().topic_id, partitions=[part])
        first = await brokers.ask(1, FetchRequest(rack_id="b", session_epoch=0, topics=[topic]))
        following = FetchRequest(rack_id="b", session_id=first.session_id, session_epoch=1, max_wait_ms=LONG_MS)
        second = await brokers.ask(1, following)
        for answer in first, second:
            assert said(answer.responses[0].partitions[0]) == (ErrorCode.NONE, 2, [])

    scene(scenario)


# ---- what a follower says ----


def test_a_fetch_that_waits_at_a_follower_is_answered_when_it_knows_more_to_be_committed(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        loop = asyncio.get_running_loop()
        began = loop.time()
        waiting = brokers.begin(brokers.fetch(2, 1, min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        leader.append("b")
        assert said(await waiting) == (ErrorCode.NONE, -1, ["b"])
        assert loop.time() - began < 3
        assert follower.replica().partition.high_watermark == 2

    scene(scenario)


def test_a_follower_serves_up_to_its_own_high_watermark(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower, _ = await started(brokers, 1, 2, 3)
        brokers.create(1, 2, 3)
        await committed(brokers, "a")
        await brokers.kill(3)
        leader.append("b")
        leader.append("c")
        await brokers.until(lambda: follower.replica().log.log_end_offset == 3)
        assert follower.replica().partition.high_watermark == 1
        assert said(await brokers.fetch(2, 0)) == (ErrorCode.NONE, -1, ["a"])
        waiting = brokers.begin(brokers.fetch(2, 2, min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        assert not waiting.done(), "it is here, and may soon be committed"
        brokers.elect(1, isr=(1, 2), epochs=0)
        assert said(await waiting) == (ErrorCode.NONE, -1, ["c"])
        for offset in -1, 4:
            assert said(await brokers.fetch(2, offset)) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, [])

    scene(scenario)


def test_a_follower_that_is_behind_does_not_deny_what_its_leader_has_committed(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await started(brokers, 1, 2, replica_fetch_max_bytes=1)
        brokers.create(1, 2)
        await committed(brokers, "a")
        unaware = brokers.nodes.pop(2)  # it does not hear that it is not in sync any more
        brokers.elect(1, isr=(1,), epochs=0)
        for _ in range(400):
            leader.append("b")
        brokers.nodes[2] = unaware
        await brokers.until(lambda: follower.replica().log.log_end_offset > 10)
        assert leader.replica().partition.high_watermark == 401
        assert said(await brokers.fetch(2, 401)) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1, [])
        beyond = await brokers.fetch(2, 402, last_epoch=0)
        assert said(beyond) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, [])
        assert beyond.diverging_epoch.end_offset == -1, "where its log ends says nothing about the reader's"
        assert follower.replica().log.log_end_offset < 401, "it was behind all the time"

    scene(scenario)


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (-1, ErrorCode.NONE),
        (1, ErrorCode.NONE),
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_follower_checks_the_leader_epoch(scene: Scene, epoch: int, code: ErrorCode) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2)
        brokers.create(2, 1)
        brokers.elect(1)
        await committed(brokers, "a")
        data = await brokers.fetch(2, 0, leader_epoch=epoch)
        assert said(data) == (code, -1, ["a"] if code is ErrorCode.NONE else [])

    scene(scenario)


def test_who_waits_at_a_follower_hears_of_another_leader(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await started(brokers, 1, 2, 3)
        brokers.create(1, 2, 3)
        await committed(brokers, "a")
        waiting = brokers.begin(brokers.fetch(2, 1, leader_epoch=0, min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        brokers.elect(3)
        async with asyncio.timeout(1):
            assert said(await waiting) == (ErrorCode.FENCED_LEADER_EPOCH, -1, [])

    scene(scenario)


def test_who_waits_at_a_follower_hears_that_the_topic_is_gone(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, _ = await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        waiting = brokers.begin(brokers.fetch(2, 1, min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        brokers.learn(r.TopicDeleted(leader.replica().topic_id))
        async with asyncio.timeout(1):
            assert said(await waiting) == (ErrorCode.UNKNOWN_TOPIC_ID, -1, [])

    scene(scenario)


def test_nobody_reads_a_copy_without_a_leader_or_one_that_is_being_cut(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        _, follower = await started(brokers, 1, 2)
        brokers.create(1, 2)
        await committed(brokers, "a")
        assert said(await brokers.fetch(2, 0)) == (ErrorCode.NONE, -1, ["a"])
        follower.replica().is_cut = True
        assert (await brokers.fetch(2, 0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        follower.replica().is_cut = False
        brokers.nobody_leads()
        assert (await brokers.fetch(2, 0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    scene(scenario)


def test_a_follower_knows_which_transactions_are_decided_and_which_were_aborted(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await started(brokers, 1, 2)
        brokers.create(1, 2)
        leader.append("a", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
        leader.append("b")
        await brokers.until(lambda: follower.replica().partition.high_watermark == 2)
        undecided = await brokers.fetch(2, 0, isolation_level=1)
        assert said(undecided) == (ErrorCode.NONE, -1, [])
        assert (undecided.high_watermark, undecided.last_stable_offset) == (2, 0)
        waiting = brokers.begin(brokers.fetch(2, 0, isolation_level=1, min_bytes=1, max_wait_ms=LONG_MS))
        await brokers.rest(1)
        assert not waiting.done()
        leader.end_transaction(7, committed=False)
        decided = await waiting
        assert [(each.producer_id, each.first_offset) for each in decided.aborted_transactions] == [(7, 0)]
        assert decided.last_stable_offset == 3

    scene(scenario)

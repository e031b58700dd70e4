"""A follower's log is cut in a thread: what else may happen to the partition meanwhile, and what is known of it afterwards."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias
from uuid import UUID

import pytest

from millstream_wire.errors import ErrorCode

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]
READ_COMMITTED = 1
TRANSACTIONAL = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
FIND, PERFORM = 0, 1
"""What a cut does in threads, in this order."""


async def diverged(brokers: Any, *, hold_after: int | None = None) -> Any:
    """Broker 1 returns with "b" and "c", which broker 2 that leads by now does not have; both have "a", and 2 has "x"."""
    one = await brokers.start(1)
    await brokers.start(2)
    brokers.create(1, 2)
    one.append("a")
    one.replica().log.roll(0)
    await brokers.until(lambda: one.replica().partition.high_watermark == 1)
    await brokers.kill(2)
    one.append("b")
    one.append("c")
    await brokers.stop(1)
    two = await brokers.start(2)
    brokers.elect(2, isr=(2,))
    two.append("x")
    if hold_after is None:
        return await brokers.start(1)
    one = await brokers.start(1, hold=hold_after)
    await brokers.until(lambda: one.held_threads == 1)
    assert one.replica().is_cut
    return one


@pytest.mark.parametrize("stage", [FIND, PERFORM])
def test_who_is_elected_while_its_log_is_cut_leads_once_that_is_done(scene: Scene, stage: int) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers, hold_after=stage)
        brokers.elect(1, isr=(1, 2))
        await brokers.rest(1)
        assert not one.replica().partition.leads
        assert len(one.replication) == 0, "nothing is asked of the leader before"
        one.may_go.set()
        await brokers.until(lambda: one.replica().partition.leads)
        one.replica().check()
        assert one.values() == (["a", "b", "c"] if stage == FIND else ["a"]), "what was not cut yet stays"
        one.append("y")
        await brokers.until_same(1, 2)

    scene(scenario)


@pytest.mark.parametrize("stage", [FIND, PERFORM])
def test_a_topic_that_is_deleted_while_its_log_is_cut_leaves_its_successor_alone(scene: Scene, stage: int) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers, hold_after=stage)
        brokers.create_again(UUID(int=78), 1)
        one.append("new")
        directory = brokers.directory / "b1" / "orders-0"
        before = {path.name: path.read_bytes() for path in directory.iterdir()}
        one.may_go.set()
        await brokers.rest(2)
        assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
        one.append("newer")
        assert one.values() == ["new", "newer"]

    scene(scenario)


def test_a_new_leader_is_followed_once_the_log_is_cut(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers, hold_after=PERFORM)
        brokers.elect(2, isr=(2,))
        brokers.nodes[2].append("z")
        await brokers.rest(1)
        one.may_go.set()
        await brokers.until_same(1, 2)
        assert one.values() == ["a", "x", "z"]

    scene(scenario)


def test_a_broker_that_is_stopped_while_it_cuts_stops_cleanly(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers, hold_after=PERFORM)
        stopping = brokers.begin(brokers.stop(1))
        await brokers.rest(1)
        assert not stopping.done()
        one.may_go.set()
        await stopping
        assert (brokers.directory / "b1" / ".kafka_cleanshutdown").exists()
        one = await brokers.start(1)
        await brokers.until_same(1, 2)
        assert one.values() == ["a", "x"]

    scene(scenario)


def test_what_is_cut_is_cut_on_the_disk(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers)
        await brokers.until_same(1, 2)
        await brokers.kill(1)
        one = await brokers.start(1)
        assert one.values() == ["a", "x"]
        assert one.replica().partition.high_watermark <= 2

    scene(scenario)


def test_retention_and_cleaning_leave_a_log_that_is_cut_alone(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one = await diverged(brokers, hold_after=FIND)
        brokers.configure(cleanup_policy="compact,delete", retention_bytes="1", min_cleanable_dirty_ratio="0")
        segments = one.replica().log.segments
        assert [each.base_offset for each in segments] == [0, 1]
        await one.upkeep.retain()
        async with asyncio.timeout(1):
            assert not await one.cleaner.clean_dirtiest()
        assert one.replica().log.segments == segments
        one.may_go.set()
        await brokers.until(lambda: not one.replica().is_cut)

    scene(scenario)


# ---- transactions ----


async def with_transaction(brokers: Any) -> tuple[Any, Any]:
    """A transaction from offset 0 on, open, and a record at offset 1; both brokers know that these two are committed."""
    leader, follower = await brokers.start(1), await brokers.start(2)
    brokers.create(1, 2)
    leader.append("t", base_sequence=0, **TRANSACTIONAL)
    leader.append("p")
    await brokers.until(lambda: follower.replica().partition.high_watermark == 2)
    return leader, follower


def test_a_follower_knows_what_is_undecided(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await with_transaction(brokers)
        assert follower.replica().last_stable_offset == 0
        leader.end_transaction(7, committed=False)
        await brokers.until(lambda: follower.replica().partition.high_watermark == 3)
        assert follower.replica().last_stable_offset == 3
        await brokers.kill(1)
        brokers.elect(2, isr=(2,))
        data = await brokers.fetch(2, 0, isolation_level=READ_COMMITTED)
        assert data.error_code == ErrorCode.NONE
        assert [(each.producer_id, each.first_offset) for each in data.aborted_transactions] == [(7, 0)]
        assert data.last_stable_offset == 3

    scene(scenario)


def test_a_transaction_whose_end_may_still_be_lost_is_undecided_after_a_restart(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await with_transaction(brokers)
        follower.partitions.checkpoint()
        leader.end_transaction(7, committed=True)
        await brokers.until_same(1, 2)
        for node_id in 1, 2:
            await brokers.kill(node_id)
        follower = await brokers.start(2)
        replica = follower.replica()
        assert (replica.partition.high_watermark, replica.log.log_end_offset) == (2, 3)
        assert replica.last_stable_offset == 0, "its marker is above the high watermark"
        brokers.elect(2, isr=(2,))
        assert replica.last_stable_offset == 3

    scene(scenario)


def test_a_transaction_whose_end_was_cut_off_is_open_again(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, _ = await with_transaction(brokers)
        await brokers.kill(2)
        one.append("b")
        one.append("c")
        one.end_transaction(7, committed=True)
        await brokers.kill(1)
        two = await brokers.start(2)
        brokers.elect(2, isr=(2,))
        two.append("x")
        one = await brokers.start(1)
        await brokers.until_same(1, 2)
        await brokers.until(lambda: one.replica().partition.high_watermark == 3)
        assert one.replica().last_stable_offset == 0
        two.end_transaction(7, committed=True)
        await brokers.until(lambda: one.replica().partition.high_watermark == 4)
        assert one.replica().last_stable_offset == 4

    scene(scenario)


def test_a_transaction_that_ended_before_a_cut_stays_undecided_until_its_end_is_committed(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, two = await with_transaction(brokers)
        one.partitions.checkpoint()
        one.end_transaction(7, committed=True)
        await brokers.until_same(1, 2)
        await brokers.kill(2)
        one.append("b")
        await brokers.kill(1)
        two = await brokers.start(2)
        brokers.elect(2, isr=(1, 2))
        one = await brokers.start(1, hold=PERFORM)
        await brokers.until(lambda: one.held_threads == 1)
        replica = one.replica()
        assert (replica.log.log_end_offset, replica.partition.high_watermark) == (3, 2)
        assert replica.last_stable_offset == 0
        replica.check()
        one.may_go.set()
        await brokers.until(lambda: replica.partition.high_watermark == 3)
        assert (replica.last_stable_offset, two.replica().last_stable_offset) == (3, 3)

    scene(scenario)

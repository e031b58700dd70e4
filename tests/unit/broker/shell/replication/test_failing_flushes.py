"""Brokers whose flushes fail or hang: nobody waits for a log that takes nothing more, and nobody leads from a disk that hangs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_broker.core.partition.isr import IsrAnswer
from millstream_cluster import records as r
from millstream_log.disk import Disk
from millstream_wire.errors import ErrorCode

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]


class Unflushable(Disk):
    is_broken = False

    def fdatasync(self, fd: int) -> None:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        super().fdatasync(fd)


def asked_for(node: Any) -> list[tuple[list[int], bool]]:
    changes = node.partitions.isr_changes.take().values()
    return [([member.node_id for member in each.isr], each.resigns) for each in changes]


def fetched(leader: Any) -> Any:
    """What the follower last said of its partition."""
    return [part for each in leader.requests for topic in each.topics for part in topic.partitions][-1]


async def pair(brokers: Any, broken: int, *, isr: tuple[int, ...] = (1, 2)) -> tuple[Any, Any, Unflushable]:
    disk = brokers.disks[broken] = Unflushable()
    one, two = await brokers.start(1), await brokers.start(2)
    brokers.create(1, *isr[1:])
    one.append("a")
    await brokers.until_same(1, 2)
    one.append("b")
    await brokers.until_same(1, 2)
    return one, two, disk


def test_a_follower_whose_flush_failed_leaves_the_isr_at_once(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower, disk = await pair(brokers, 2)
        await follower.upkeep.checkpoint()
        leader.append("c")
        await brokers.until_same(1, 2)
        disk.is_broken = True
        await follower.upkeep.checkpoint()
        assert await brokers.until(leader.partitions.isr_changes.wake.is_set) < 1, "with the next fetch"
        assert asked_for(leader) == [([1], False)]
        said = fetched(leader)
        assert (said.fetch_offset, said.cannot_append) == (2, True), "what was not flushed may be gone"
        await brokers.rest(40)
        assert asked_for(leader) == []
        requests = len(leader.requests)
        await brokers.rest(5)
        assert len(leader.requests) == requests, "it says so once"

    scene(scenario)


def test_a_leader_whose_flush_failed_asks_for_another_one_before_anybody_produces(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, _, disk = await pair(brokers, 1)
        disk.is_broken = True
        await leader.upkeep.checkpoint()
        assert asked_for(leader) == [([1, 2], True)]

    scene(scenario)


def test_who_was_relieved_after_a_failed_flush_stays_out_of_the_isr(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, two, disk = await pair(brokers, 1)
        disk.is_broken = True
        await one.upkeep.checkpoint()
        brokers.elect(2, replicas=(1, 2), isr=(2,))
        await brokers.rest(60)
        assert asked_for(two) == []

    scene(scenario)


@pytest.mark.parametrize(("least", "asks"), [("1", True), ("2", False)])
def test_a_leader_whose_disk_hangs_gives_way_where_enough_stay_in_sync(scene: Scene, least: str, asks: bool) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower, _ = await pair(brokers, 1)
        brokers.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", "min.insync.replicas", least))
        may_go = leader.hold_threads()
        flushing = asyncio.ensure_future(leader.upkeep.checkpoint())
        await brokers.rest(9)
        assert asked_for(leader) == [], "it may be slow"
        await brokers.rest(2)
        assert asked_for(leader) == ([([1, 2], True)] if asks else [])
        if asks:
            proposal = leader.replica().partition._in_sync.proposal
            await brokers.rest(1)
            leader.replica().partition.on_isr_answered(proposal, IsrAnswer(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE))
            await brokers.rest(10)
            assert asked_for(leader) == [([1, 2], True)], "somebody may be able to lead by now"
            brokers.elect(2, replicas=(1, 2), isr=(2,))
            await brokers.rest(60)
            assert asked_for(follower) == [], "while it hangs it does not join"
        may_go.set()
        await flushing
        if asks:
            assert await brokers.until(follower.partitions.isr_changes.wake.is_set) < 35
            assert asked_for(follower) == [([2, 1], False)]

    scene(scenario)

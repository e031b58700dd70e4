"""Brokers whose disks refuse appends: who follows leaves the ISR, who leads has somebody else lead, and neither comes back too early."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.refusals import AGAIN_MS, REMEMBERED_MS
from millstream_log.disk import Disk
from millstream_wire.errors import ErrorCode

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]


class FullDisk(Disk):
    """Refuses batches while `is_full`."""

    is_full = False

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.is_full:
            raise OSError(28, "no space left on device")
        return super().pwrite(fd, data, position)


def test_a_follower_whose_disk_refuses_tries_again(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(brokers: Any) -> None:
        disk = brokers.disks[2] = FullDisk()
        leader = await brokers.start(1)
        await brokers.start(2)
        brokers.create(1, 2)
        leader.append("a")
        await brokers.until_same(1, 2)
        disk.is_full = True
        leader.append("b")
        proposed = leader.partitions.isr_changes.wake.is_set
        assert await brokers.until(proposed) < 0.1, "long before it lags"
        (proposal,) = leader.partitions.isr_changes.take().values()
        assert [member.node_id for member in proposal.isr] == [1]
        await brokers.rest(10)
        disk.is_full = False
        assert await brokers.until_same(1, 2) < 2

    with caplog.at_level(logging.WARNING):
        scene(scenario)
    (told,) = [each.getMessage() for each in caplog.records if each.name.startswith("millstream_broker")]
    assert "replica not copied partition=orders-0" in told
    assert "no space left" in told


def asked_for(node: Any) -> list[tuple[list[int], bool]]:
    """The ISRs that it proposed since this was last asked, and whether it resigns."""
    changes = node.partitions.isr_changes.take().values()
    return [([member.node_id for member in each.isr], each.resigns) for each in changes]


def last_said(leader: Any) -> bool:
    """Whether the follower said of its partition, when it last spoke of it, that it cannot append."""
    return [part.cannot_append for each in leader.requests for topic in each.topics for part in topic.partitions][-1]


async def led_by_one_with_a_full_disk(brokers: Any) -> tuple[Any, Any, FullDisk]:
    disk = brokers.disks[1] = FullDisk()
    one, two = await brokers.start(1), await brokers.start(2)
    brokers.create(1, 2)
    assert await brokers.produce(1, "a") is ErrorCode.NONE
    disk.is_full = True
    return one, two, disk


def test_a_leader_whose_disk_goes_on_refusing_asks_for_another_one_once_in_a_while(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, _, _ = await led_by_one_with_a_full_disk(brokers)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        assert asked_for(one) == [], "it may pass"
        await brokers.rest(0.1)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        assert asked_for(one) == [([1, 2], True)]
        one.replica().partition.on_isr_answered(
            one.replica().partition._in_sync.proposal, IsrAnswer(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        )
        await brokers.rest(0.1)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        assert asked_for(one) == [], "nobody else is there"
        await brokers.rest(AGAIN_MS / 1000)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        assert asked_for(one) == [([1, 2], True)]

    scene(scenario)


def test_a_leader_whose_disk_takes_something_in_between_goes_on(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, _, disk = await led_by_one_with_a_full_disk(brokers)
        for is_full in True, False, True:
            disk.is_full = is_full
            code = ErrorCode.KAFKA_STORAGE_ERROR if is_full else ErrorCode.NONE
            assert await brokers.produce(1, "b") is code
            await brokers.rest(0.1)
        assert asked_for(one) == []

    scene(scenario)


def test_who_was_relieved_joins_again_once_its_disk_has_taken_what_came_since(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        one, two, disk = await led_by_one_with_a_full_disk(brokers)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        brokers.elect(2, isr=(2,))
        await brokers.rest(2)
        assert last_said(two), "it has everything, and would hold up the next record"
        assert asked_for(two) == []
        assert await brokers.produce(2, "b") is ErrorCode.NONE
        await brokers.rest(2)
        assert asked_for(two) == []
        disk.is_full = False
        assert await brokers.until(two.partitions.isr_changes.wake.is_set) < 4
        assert asked_for(two) == [([2, 1], False)]
        assert one.values() == ["a", "b"]

    scene(scenario)


def test_who_was_relieved_and_has_had_nothing_to_append_joins_after_a_while(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        _, two, _ = await led_by_one_with_a_full_disk(brokers)
        assert await brokers.produce(1, "b") is ErrorCode.KAFKA_STORAGE_ERROR
        brokers.elect(2, isr=(2,))
        took = await brokers.until(two.partitions.isr_changes.wake.is_set, within_s=60)
        assert REMEMBERED_MS / 1000 - 1 < took < REMEMBERED_MS / 1000 + 3
        assert asked_for(two) == [([2, 1], False)]

    scene(scenario)


def test_a_log_that_cannot_be_cut_for_want_of_room_is_cut_when_there_is_some(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Found by `make chaos FAMILY=full SEED=13`: it took nothing more until its broker was started again."""

    async def scenario(brokers: Any) -> None:
        disk = brokers.disks[1] = FullDisk()
        one, two = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2)
        assert await brokers.produce(1, "a") is ErrorCode.NONE
        one.append("b")
        disk.is_full = True
        brokers.elect(2, isr=(2,))
        assert await brokers.produce(2, "c") is ErrorCode.NONE
        await brokers.rest(10)
        assert one.replica().is_cut
        disk.is_full = False
        assert await brokers.until_same(1, 2) < 3
        assert one.values() == two.values() == ["a", "c"]

    with caplog.at_level(logging.WARNING):
        scene(scenario)
    (told,) = [each.getMessage() for each in caplog.records if each.name.startswith("millstream_broker")]
    assert "truncation waits partition=orders-0" in told


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_broker_that_ends_while_a_cut_waits_for_room_goes_on_with_it(scene: Scene, ends: str) -> None:
    async def scenario(brokers: Any) -> None:
        disk = brokers.disks[1] = FullDisk()
        one, _ = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2)
        assert await brokers.produce(1, "a") is ErrorCode.NONE
        one.append("b")
        disk.is_full = True
        brokers.elect(2, isr=(2,))
        await brokers.rest(3)
        disk.is_full = ends == "kill"
        await (brokers.stop(1) if ends == "stop" else brokers.kill(1))
        disk.is_full = False
        assert await brokers.produce(2, "c") is ErrorCode.NONE
        one = await brokers.start(1)
        assert await brokers.until_same(1, 2) < 3
        assert one.values() == ["a", "c"]

    scene(scenario)

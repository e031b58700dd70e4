"""Topics whose records are committed only once all replicas in sync have flushed them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_cluster import records as r
from millstream_wire.errors import ErrorCode

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]
KEY = "millstream.visible.after.flush"


def committed(node: Any) -> int:
    return int(node.replica().partition.high_watermark)


async def with_upkeep(node: Any, scenario: Coroutine[Any, Any, None]) -> None:
    """Flush what is due at this node meanwhile."""
    running = asyncio.ensure_future(node.upkeep.run())
    try:
        await scenario
    finally:
        running.cancel()
        await asyncio.wait([running])


def test_a_lone_leader_shows_and_acknowledges_what_it_has_flushed(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1, **{KEY: "true"})
        producing = asyncio.ensure_future(brokers.produce(1, "a"))
        await brokers.rest(1)
        assert leader.replica().log.log_end_offset == 1
        assert (committed(leader), producing.done()) == (0, False), "it is in memory only"
        await with_upkeep(leader, brokers.rest(0.5))
        assert (committed(leader), await producing) == (1, ErrorCode.NONE)
        assert leader.replica().log.recovery_point == 1
        leader.replica().check()

    scene(scenario)


@pytest.mark.parametrize("late", [1, 2])
def test_all_in_sync_have_to_have_flushed(scene: Scene, late: int) -> None:
    async def scenario(brokers: Any) -> None:
        nodes = {1: await brokers.start(1), 2: await brokers.start(2)}
        brokers.create(1, 2, **{KEY: "true"})
        prompt = 3 - late
        nodes[1].append("a")

        async def unflushed() -> None:
            await brokers.rest(3)
            assert nodes[late].replica().log.log_end_offset == 1
            assert committed(nodes[1]) == 0
            await with_upkeep(nodes[late], flushed())

        async def flushed() -> None:
            assert await brokers.until(lambda: committed(nodes[1]) == 1) < 1
            nodes[1].append("b")
            assert await brokers.until(lambda: committed(nodes[1]) == 2) < 0.4, "no fetch waits for its time"

        await with_upkeep(nodes[prompt], unflushed())
        for node in nodes.values():
            node.replica().check()

    scene(scenario)


def test_partitions_that_are_flushed_in_turns_do_not_wait_for_each_other(scene: Scene) -> None:
    """A fetch that waits for one must not keep the leader from hearing what another has flushed (simulation seed 2043)."""

    async def scenario(brokers: Any) -> None:
        brokers.network.conditions.slow_probability = 0.0  # else what one frame in a hundred takes is measured
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, 2, partitions=3, **{KEY: "true"})
        ends = [0, 0, 0]

        async def in_turns() -> None:
            for turn in range(60):
                began = leader.world.monotonic_ms()
                for index in {turn % 3, (turn * turn) % 3}:
                    ends[index] = leader.append(f"v{turn}", index=index)
                await brokers.until(
                    lambda: [leader.replica(index).partition.high_watermark for index in range(3)] == ends
                )
                waits.append(leader.world.monotonic_ms() - began)

        waits: list[int] = []
        await with_upkeep(leader, with_upkeep(follower, in_turns()))
        assert max(waits) < 50, "far less than replica.fetch.wait.max.ms"

    scene(scenario)


def test_the_topic_may_ask_for_it_and_cease_to_at_any_time(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        brokers.create(1)
        leader.append("a")
        assert committed(leader) == 1
        brokers.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", KEY, "true"))
        leader.append("b")
        assert committed(leader) == 1
        brokers.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", KEY, None))
        assert committed(leader) == 2
        brokers.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", KEY, "true"))
        leader.append("c")
        await with_upkeep(leader, brokers.rest(0.5))
        assert committed(leader) == 3
        leader.replica().check()

    scene(scenario)


def test_a_new_leader_flushes_what_the_last_one_sent(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        await brokers.start(1)
        two = await brokers.start(2)
        brokers.create(1, 2)
        brokers.nodes[1].append("a", "b")
        await brokers.until_same(1, 2)
        brokers.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", KEY, "true"))
        brokers.elect(2, replicas=(2,), isr=(2,))
        assert committed(two) < 2
        await with_upkeep(two, brokers.rest(0.5))
        assert committed(two) == 2

    scene(scenario)

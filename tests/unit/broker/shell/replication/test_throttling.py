"""Throttled replicas are copied as fast as they may be, and those that others wait for as fast as they can."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from millstream_cluster import records as r

Scene: TypeAlias = Callable[[Callable[[Any], Coroutine[Any, Any, None]]], None]
RATE = "follower.replication.throttled.rate"
SMALL = {"replica_fetch_max_bytes": 500}
RECORDS = 100
"""Each in a batch of its own, of some 100 bytes."""


def limit(brokers: Any, bytes_per_s: int) -> None:
    brokers.learn(r.ConfigChanged(r.ResourceType.BROKER, "2", RATE, str(bytes_per_s)))


@pytest.mark.parametrize(
    ("named", "isr", "least_s", "most_s"),
    [
        ("*", (1,), 4, 12),
        ("0:2", (1,), 4, 12),
        ("0:1,7:2", (1,), 0, 1),
        ("", (1,), 0, 1),
        ("*", (1, 2), 0, 1),
    ],
)
def test_a_copy_takes_the_time_that_its_rate_allows(scene: Scene, named, isr, least_s, most_s) -> None:  # type: ignore[no-untyped-def]
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        await brokers.start(2, **SMALL)
        limit(brokers, 1_000)
        brokers.create(1, **{"follower.replication.throttled.replicas": named} if named else {})
        for number in range(RECORDS):
            leader.append(f"value-{number}")
        brokers.elect(1, replicas=(1, 2), isr=isr)
        assert least_s <= await brokers.until_same(1, 2) <= most_s

    scene(scenario)


def test_a_new_rate_holds_from_now_on_and_a_held_copy_does_not_hold_others(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        follower = await brokers.start(2, **SMALL)
        limit(brokers, 0)
        brokers.create(1, partitions=2, **{"follower.replication.throttled.replicas": "0:2"})
        for number in range(RECORDS):
            leader.append(f"value-{number}")
            leader.append(f"value-{number}", index=1)
        for index in (0, 1):
            brokers.elect(1, replicas=(1, 2), isr=(1,), index=index)
        assert await brokers.until_same(1, 2, index=1) <= 1
        await brokers.rest(5)
        assert follower.replica(0).log.log_end_offset == 0
        limit(brokers, 1_000_000)
        assert await brokers.until_same(1, 2) <= 2

    scene(scenario)


def test_who_has_all_that_is_committed_is_not_held(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, **{"follower.replication.throttled.replicas": "*"})
        leader.append("a")
        brokers.elect(1, replicas=(1, 2), isr=(1,))
        await brokers.until_same(1, 2)
        limit(brokers, 0)
        for value in "bc":
            leader.append(value)
            assert await brokers.until_same(1, 2) <= 1
        assert follower.values() == ["a", "b", "c"]

    scene(scenario)


# ---- the leader's side ----


def hold(brokers: Any, bytes_per_s: int) -> None:
    brokers.learn(r.ConfigChanged(r.ResourceType.BROKER, "1", "leader.replication.throttled.rate", str(bytes_per_s)))


@pytest.mark.parametrize(
    ("named", "isr", "least_s", "most_s"),
    [
        ("*", (1,), 4, 12),
        ("0:1", (1,), 4, 12),
        ("0:2,7:1", (1,), 0, 1),
        ("", (1,), 0, 1),
        ("*", (1, 2), 0, 1),
    ],
)
def test_a_leader_sends_what_its_rate_allows(scene: Scene, named, isr, least_s, most_s) -> None:  # type: ignore[no-untyped-def]
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        await brokers.start(2, **SMALL)
        hold(brokers, 1_000)
        brokers.create(1, **{"leader.replication.throttled.replicas": named} if named else {})
        for number in range(RECORDS):
            leader.append(f"value-{number}")
        brokers.elect(1, replicas=(1, 2), isr=isr)
        assert least_s <= await brokers.until_same(1, 2) <= most_s

    scene(scenario)


def test_a_leader_holds_only_what_is_named_and_until_its_rate_is_another(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader = await brokers.start(1)
        follower = await brokers.start(2, **SMALL)
        hold(brokers, 0)
        brokers.create(1, partitions=2, **{"leader.replication.throttled.replicas": "0:1"})
        for number in range(RECORDS):
            leader.append(f"value-{number}")
            leader.append(f"value-{number}", index=1)
        for index in (0, 1):
            brokers.elect(1, replicas=(1, 2), isr=(1,), index=index)
        assert await brokers.until_same(1, 2, index=1) <= 2
        await brokers.rest(5)
        assert follower.replica(0).log.log_end_offset == 0
        hold(brokers, 1_000_000)
        assert await brokers.until_same(1, 2) <= 2

    scene(scenario)


def test_a_leader_does_not_hold_who_has_all_that_is_committed(scene: Scene) -> None:
    async def scenario(brokers: Any) -> None:
        leader, follower = await brokers.start(1), await brokers.start(2)
        brokers.create(1, **{"leader.replication.throttled.replicas": "*"})
        leader.append("a")
        brokers.elect(1, replicas=(1, 2), isr=(1,))
        await brokers.until_same(1, 2)
        brokers.elect(1, replicas=(1, 2), isr=(1, 2))
        hold(brokers, 0)
        for value in "bc":
            leader.append(value)
            assert await brokers.until_same(1, 2) <= 1
        assert follower.values() == ["a", "b", "c"]

    scene(scenario)

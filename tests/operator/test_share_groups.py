"""A share group by `kubectl apply` alone, with librdkafka's own share consumer for the other view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, ShareConsumer
from group_reader import produce
from product import consumer_group, topic
from scene import Scene

GROUP, TOPIC = "sharers", "shared"
PARTITIONS, EACH = 3, 20


@pytest.fixture(scope="module", autouse=True)
def declared(scene: Scene) -> Iterator[None]:
    scene.cluster.apply(topic(TOPIC, partitions=PARTITIONS, replicationFactor=3))
    scene.cluster.wait_for_condition("topic", TOPIC, "Ready", "True", timeout_s=60)
    declare(scene)
    scene.wait_until("its configs are set", lambda: "share.auto.offset.reset" in status(scene).get("configs", ()), 60)
    produce(scene.clients, TOPIC, PARTITIONS, EACH)
    yield
    scene.cluster.kubectl("delete", f"consumergroup/{GROUP}", f"topic/{TOPIC}")


def declare(scene: Scene, **spec: Any) -> None:
    scene.cluster.apply(consumer_group(GROUP, topics=[TOPIC], config={"share.auto.offset.reset": "earliest"}, **spec))


def status(scene: Scene) -> dict[str, Any]:
    return dict((scene.cluster.get("consumergroup", GROUP) or {}).get("status") or {})


@contextmanager
def consumer(scene: Scene) -> Iterator[ShareConsumer]:
    found = ShareConsumer({**scene.librdkafka, "group.id": GROUP})
    found.subscribe([TOPIC])
    try:
        yield found
    finally:
        found.close()


def read(scene: Scene, member: ShareConsumer) -> Counter[tuple[int, int]]:
    """How often each record came, until all have; what is polled is accepted with the next poll."""
    came: Counter[tuple[int, int]] = Counter()

    def all_came() -> bool:
        try:
            found = member.poll(0.5)
        except KafkaException:
            return False
        came.update((each.partition(), each.offset()) for each in found if each.error() is None)
        return len(came) == PARTITIONS * EACH

    scene.wait_until("every record came", all_came, timeout_s=90)
    return came


def test_its_members_and_what_is_left_to_read_are_told(scene: Scene) -> None:
    with consumer(scene) as member:
        read(scene, member)

        def is_told() -> bool:
            with_what_is_accepted = member.poll(0.5)
            assert not [each for each in with_what_is_accepted if each.error() is None]
            told = status(scene)
            return (told["type"], told["members"], told["lag"]["total"]) == ("share", 1, 0)

        scene.wait_until("one member, nothing left", is_told, timeout_s=60)


def test_it_is_reset_once_it_is_empty_and_reads_again(scene: Scene) -> None:
    scene.wait_until("nobody is in it", lambda: status(scene)["members"] == 0, timeout_s=90)
    declare(scene, offsets={"reset": {"id": "again", "to": "Earliest"}})
    scene.wait_until("it is reset", lambda: (status(scene).get("lastReset") or {}).get("phase") == "Done", timeout_s=60)
    scene.wait_until("all is left", lambda: status(scene)["lag"]["total"] == PARTITIONS * EACH, timeout_s=60)
    with consumer(scene) as member:
        read(scene, member)


def test_who_may_be_in_it_is_what_the_resource_says(scene: Scene) -> None:
    def has_configs(*names: str) -> bool:
        return set(names) <= set(status(scene).get("configs", ()))

    scene.wait_until("nobody is in it", lambda: status(scene)["members"] == 0, timeout_s=90)
    declare(scene, members={"max": 1})
    scene.wait_until("there is a limit", lambda: has_configs("max.size"), timeout_s=60)
    with consumer(scene) as first:
        scene.wait_until("the first is in", lambda: refusal(first) is None and status(scene)["members"] == 1, 60)
        with consumer(scene) as second:
            scene.wait_until("there is no room", lambda: refusal(second) == KafkaError.GROUP_MAX_SIZE_REACHED, 60)
        declare(scene, admission="Closed")
        scene.wait_until("it is closed", lambda: has_configs("admission") and not has_configs("max.size"), timeout_s=60)
        with consumer(scene) as third:
            scene.wait_until("nobody comes", lambda: refusal(third) == KafkaError.GROUP_AUTHORIZATION_FAILED, 60)
        assert refusal(first) is None, "who is in stays"
    declare(scene)


def test_a_paused_share_groups_members_stay_and_get_nothing(scene: Scene) -> None:
    declare(scene, paused=True)
    scene.wait_until("it is paused", lambda: "paused" in status(scene).get("configs", ()), timeout_s=60)
    with consumer(scene) as member:
        scene.wait_until("it is in", lambda: refusal(member) is None and status(scene)["members"] == 1, 60)
        produce(scene.clients, TOPIC, PARTITIONS, EACH)
        scene.wait_until("all of it is left", lambda: status(scene)["lag"]["total"] >= PARTITIONS * EACH, timeout_s=60)
        assert not [each for each in member.poll(1) if each.error() is None]
        declare(scene)
        scene.wait_until("it goes on", lambda: refusal(member) is None and status(scene)["lag"]["total"] == 0, 90)


def refusal(member: ShareConsumer) -> int | None:
    """The code of the error that it meets; what it reads does not matter here."""
    try:
        errors = [each.error() for each in member.poll(0.5) if each.error() is not None]
    except KafkaException as failure:
        errors = [failure.args[0]]
    return int(errors[0].code()) if errors else None

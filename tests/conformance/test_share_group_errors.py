"""Requests about share groups that are right, wrong or stale: what we answer and what Apache Kafka answers, field by field."""

from collections.abc import Callable
from typing import Any

import pytest
from kafka_broker import KafkaBroker
from raw_share_groups import RawShareGroup
from servers import ServerProcess, eventually

from millstream_wire.messages import AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest


def a_group_that_is_not_there(group: RawShareGroup) -> None:
    group.share_describe()
    group.describe_offsets()
    group.describe_offsets(0)
    group.alter_offsets((0, 1))
    group.delete_share_offsets()
    group.share_heartbeat("a", 1)
    group.share_heartbeat("a", -1)
    group.delete()
    group.alter_offsets((0, 1), topic="no-such-topic")
    group.share_describe()
    group.alter_offsets((7, 1))
    group.delete()


def offsets_of_a_group_without_a_name(group: RawShareGroup) -> None:
    group.say(AlterShareGroupOffsetsRequest(), 0)
    group.say(DeleteShareGroupOffsetsRequest(), 0)


def heartbeats_that_cannot_be(group: RawShareGroup) -> None:
    group.share_heartbeat("", 0, subscribed_topic_names=[group.topic])
    group.share_heartbeat("a", 0)
    group.share_heartbeat("a", 0, subscribed_topic_names=[])
    group.share_heartbeat("a", -2)
    group.share_join("a", rack_id="")
    group.share_join("a", group="")
    group.share_join("a", group=" ")
    group.share_join(" ")
    group.share_join("a")
    group.share_heartbeat("b", 1)
    group.share_heartbeat("a", 99)
    group.share_heartbeat("b", -1)
    group.share_heartbeat("a", -1)
    group.share_heartbeat("a", -1)
    group.delete()


def a_group_with_a_member(group: RawShareGroup) -> None:
    group.share_join("a")
    group.list_share_groups()
    group.alter_offsets((0, 1))
    group.delete_share_offsets()
    group.delete()
    group.share_heartbeat("a", -1)
    group.list_share_groups()
    group.delete()
    group.share_describe()


def offsets_of_an_empty_group(group: RawShareGroup) -> None:
    group.share_join("a")
    group.share_heartbeat("a", -1)
    group.alter_offsets((0, 0), (1, 0), (7, 0))
    group.alter_offsets((0, 0), topic="no-such-topic")
    group.describe_offsets()
    # Of a partition that is not there Kafka says nothing at all, ever.
    group.describe_offsets(0, 1)
    group.describe_offsets(0, topic="no-such-topic")
    group.alter_offsets((0, 500))
    group.describe_offsets(0)
    group.delete_share_offsets(group.topic, "no-such-topic")
    group.describe_offsets()
    group.delete_share_offsets()
    group.delete()


def other_protocols_in_a_share_group(group: RawShareGroup) -> None:
    group.share_join("a")
    for _ in range(2):
        group.consumer_join("c")
        group.consumer_heartbeat("c", 1, topic_partitions=[])
        group.join(member_id="")
        group.heartbeat("a", 1)
        group.sync("a", 1)
        group.leave(("a", None))
        group.describe()
        group.commit((0, 1), version=9)
        group.commit((0, 1), version=8)
        group.delete_offsets(0)
        group.share_heartbeat("a", -1)
    group.delete()


def a_share_member_in_other_groups(group: RawShareGroup) -> None:
    group.commit((0, 1))
    group.share_join("a")
    group.share_describe()
    group.alter_offsets((0, 1))
    group.delete()
    epoch = group.consumer_join("c").member_epoch
    group.share_join("a")
    group.share_heartbeat("a", epoch)
    group.share_heartbeat("a", -1)
    group.share_describe()
    group.describe_offsets()
    group.delete_share_offsets()
    group.consumer_heartbeat("c", -1)
    group.share_join("a")
    group.delete()


COURSES = (
    a_group_that_is_not_there,
    offsets_of_a_group_without_a_name,
    heartbeats_that_cannot_be,
    a_group_with_a_member,
    offsets_of_an_empty_group,
    other_protocols_in_a_share_group,
    a_share_member_in_other_groups,
)


@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.__name__)
def test_kafka_answers_the_same(
    node: ServerProcess, kafka: KafkaBroker, topic: str, course: Callable[[RawShareGroup], None]
) -> None:
    groups = [RawShareGroup(running.bootstrap, f"g-{topic}", topic) for running in (node, kafka)]
    for group in groups:
        course(group)
    ours, theirs = (group.transcript for group in groups)
    assert len(ours) == len(theirs)
    assert ours == theirs


def test_kafka_says_the_same_of_what_is_not_there(node: ServerProcess, kafka: KafkaBroker, topic: str) -> None:
    def said(bootstrap: str) -> list[str]:
        group = RawShareGroup(bootstrap, f"g-{topic}", topic)
        altered: list[Any] = []

        def alter() -> None:
            altered[:] = group.alter_offsets((0, 0), (7, 0)).responses[0].partitions
            assert not all(each.error_code for each in altered), "the coordinator does not know of the new topic yet"

        eventually(alter)
        deleted = [each for _ in range(2) for each in group.delete_share_offsets(topic, "no-such-topic").responses]
        return sorted(str(each.error_message) for each in (*altered, *deleted))

    assert said(node.bootstrap) == said(kafka.bootstrap)

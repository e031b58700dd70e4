"""Requests about groups that are right, wrong, stale or too large: what we answer and what Apache Kafka answers, field by field."""

from collections.abc import Callable

import pytest
from kafka_broker import KafkaBroker
from raw_groups import UNKNOWN_TOPIC_ID, RawGroup
from raw_transactions import RawProducer
from servers import ServerProcess, eventually

from millstream_wire.codec import encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ConsumerGroupDescribeRequest
from millstream_wire.stored import ConsumerProtocolSubscription

COMMIT_VERSIONS = (2, 5, 6, 8, 9, 10)
FETCH_VERSIONS = (1, 2, 5, 7, 8, 9, 10)


def offsets_of_a_group_that_nobody_is_in(group: RawGroup) -> None:
    for version in FETCH_VERSIONS:
        group.fetch(0, version=version)
        group.fetch(version=max(version, 2))
    group.delete_offsets(0)
    group.delete()
    for version in COMMIT_VERSIONS:
        group.commit((0, 10 + version), (1, version), version=version, leader_epoch=version, metadata=f"m{version}")
        for of in FETCH_VERSIONS:
            group.fetch(0, 1, version=of)
    group.commit((0, 7), metadata=None)
    group.commit((0, -1))
    group.commit((0, 5), leader_epoch=-7)
    group.commit((0, 5), (0, 6))
    group.fetch(0, 0, 1, 7)
    group.fetch(version=10)
    group.fetch(version=9, require_stable=True)
    group.describe()
    group.describe(version=5)
    group.delete_offsets(0, 9)
    group.delete_offsets(0, topic="no-such-topic")
    group.fetch()
    group.describe()
    group.delete(group.group, "no-such-group", "", group.group)
    group.fetch(0, 1)


def a_group_whose_last_offset_is_deleted(group: RawGroup) -> None:
    for number in (0, 1):
        group.commit((number, 1))
        group.delete_offsets(number)
        group.describe()
        group.delete_offsets(0, 0, 1)
        group.fetch()
        group.heartbeat("a", 1)
        group.commit((0, 1), generation_id_or_member_epoch=1, member_id="a")
    group.delete()
    group.describe()
    group.delete_offsets(0)


def offsets_that_a_transaction_may_replace(group: RawGroup) -> None:
    producer = RawProducer(group.bootstrap, f"x-{group.group}", group.topic)
    producer.group = group.group
    group.commit((0, 1), (1, 1), metadata="before")
    for commits in (False, True):
        assert producer.init() is ErrorCode.NONE
        assert producer.add_offsets() is ErrorCode.NONE
        assert producer.commit_offset(3, metadata="within") is ErrorCode.NONE
        for version in FETCH_VERSIONS:
            group.fetch(0, 1, version=version, require_stable=version >= 7)
            group.fetch(version=max(version, 2), require_stable=version >= 7)
        group.fetch(0, 1)
        assert producer.end(3, commit=commits) is ErrorCode.NONE
        eventually(lambda: group.is_stable(0))
        group.fetch(0, 1, require_stable=True)
    assert producer.add_offsets() is ErrorCode.NONE
    assert producer.commit_offset(3, metadata="late") is ErrorCode.NONE
    group.commit((0, 9), metadata="newer")
    group.fetch(0, 1)
    assert producer.end(3) is ErrorCode.NONE
    eventually(lambda: group.is_stable(0))
    group.fetch(0, 1)
    assert producer.add_offsets() is ErrorCode.NONE
    assert producer.commit_offset(3, partition=1) is ErrorCode.NONE
    group.delete()
    group.fetch(0, 1)
    assert producer.end(3) is ErrorCode.NONE
    eventually(lambda: group.is_stable(0))
    group.fetch(0, 1)


def commits_that_cannot_be(group: RawGroup) -> None:
    for version in COMMIT_VERSIONS:
        group.commit((7, 1), (0, 1), version=version)
        group.commit((0, 1), version=version, topic="no-such-topic", topic_id=UNKNOWN_TOPIC_ID)
        group.commit((1, 1), version=version, metadata="m" * 4097)
        group.commit((1, 1), version=version, metadata="é" * 4096)
        group.commit((1, 1), version=version, group="")
        unknown = {"generation_id_or_member_epoch": 3, "member_id": "nobody"}
        group.commit((1, 1), version=version, **unknown)
        group.commit((1, 1), version=version, **unknown, group=f"{group.group}-unheard-of")
        group.commit((1, 1), version=version, generation_id_or_member_epoch=-1, member_id="nobody")
        group.commit((-1, 1), version=version)
        group.commit((0, 1), version=version, topic="")
    for version in FETCH_VERSIONS:
        group.fetch(0, version=version, group="")
        group.fetch(7, 0, version=version)
        group.fetch(0, version=version, topic="no-such-topic", topic_id=UNKNOWN_TOPIC_ID)
        if version >= 9:
            group.fetch(0, version=version, member_id="nobody", member_epoch=3)
            group.fetch(0, version=version, member_id="nobody", member_epoch=-1)
            group.fetch(0, version=version, member_id="", member_epoch=0)
            group.fetch(0, version=version, member_id="nobody", member_epoch=3, group=f"{group.group}-unheard-of")
            group.fetch(0, version=version, member_id="nobody", member_epoch=-1, group=f"{group.group}-unheard-of")


def a_member_of_a_classic_group(group: RawGroup) -> None:
    member = group.join().member_id
    generation = group.join(member_id=member).generation_id
    group.commit((0, 1), generation_id_or_member_epoch=generation, member_id=member)
    group.fetch(0)
    group.sync(member, generation, assignments={member: b"a"})
    for version in COMMIT_VERSIONS:
        said = {"generation_id_or_member_epoch": generation, "member_id": member}
        group.commit((0, 1), version=version, **said)
        for wrong in (
            {"generation_id_or_member_epoch": generation + 1},
            {"generation_id_or_member_epoch": generation - 1},
            {"generation_id_or_member_epoch": -1},
            {"member_id": "nobody"},
            {"member_id": ""},
            {"generation_id_or_member_epoch": -1, "member_id": ""},
        ):
            group.commit((0, 1), version=version, **(said | wrong))
    group.fetch(0, version=9, member_id=member, member_epoch=generation)
    group.fetch(0, version=9, member_id="nobody", member_epoch=generation)
    for version in (0, 2, 4):
        group.heartbeat(member, generation, version)
        group.heartbeat(member, generation + 1, version)
        group.heartbeat(member, -1, version)
        group.heartbeat("nobody", generation, version)
        group.heartbeat("", generation, version)
    for version in (0, 2, 4):
        group.sync(member, generation, version)
        group.sync(member, generation + 1, version)
        group.sync("nobody", generation, version)
    group.sync(member, generation, protocol_name="roundrobin")
    group.sync(member, generation, protocol_type="connect")
    group.sync(member, generation, protocol_name=None)
    group.describe()
    group.delete_offsets(0, 1)
    group.delete()
    group.join(protocol_type="connect")
    group.join(protocols={"sticky": b""})
    group.join(member_id="nobody")
    group.consumer_heartbeat("nobody", 1, topic_partitions=[])
    group.consumer_heartbeat(member, -1)
    group.leave(("nobody", None), version=2)
    group.leave(("nobody", None), ("", None), ("", "nobody"))
    group.leave((member, None), (member, None))
    group.describe()
    group.commit((0, 2), generation_id_or_member_epoch=generation, member_id=member)
    group.commit((0, 2))
    group.heartbeat(member, generation)
    group.leave((member, None))
    group.delete()
    group.describe()
    group.describe(version=5)


def requests_without_a_group(group: RawGroup) -> None:
    for name in ("", f"{group.group}-unheard-of"):
        group.join(group=name, member_id="nobody")
        group.heartbeat("nobody", 1, group=name)
        group.sync("nobody", 1, group=name)
        group.leave(("nobody", None), ("", "nobody"), group=name)
        group.delete_offsets(0, group=name)
        group.consumer_heartbeat("nobody", 1, topic_partitions=[], group=name)
        group.consumer_heartbeat("nobody", -1, group=name)
        group.consumer_heartbeat("nobody", -2, instance_id="one", group=name)
    group.join(protocols={})
    group.join(protocol_type="")
    group.join(session_timeout_ms=5_999)
    group.join(session_timeout_ms=1_800_001)
    group.join(session_timeout_ms=-1)


def a_group_that_nobody_stays_in(group: RawGroup) -> None:
    group.join(session_timeout_ms=1)
    group.join(member_id="nobody", protocols={})
    group.describe()
    group.join(protocols={})
    group.describe()
    group.delete()
    member = group.join().member_id
    group.describe()
    group.delete()
    group.join(member_id=member)
    group.describe()
    member = group.join(group_instance_id="one").member_id
    group.leave((member, "one"))
    group.describe()
    group.delete_offsets(0)
    group.commit((0, 1), generation_id_or_member_epoch=1, member_id=member)
    group.consumer_join("a")
    group.describe()


def a_rebalance_of_a_classic_group(group: RawGroup) -> None:
    member = group.join(group_instance_id="one").member_id
    group.sync(member, 1, assignments={member: b"a"}, group_instance_id="one")
    group.join(member_id=member, group_instance_id="one", protocols={"range": b"other"})
    group.describe()
    group.sync(member, 2, group_instance_id="one")
    group.describe()


def protocols_of_a_classic_group(group: RawGroup) -> None:
    for name in ("", group.group):
        group.sync("nobody", 1, protocol_name=None, group=name)
        group.sync("nobody", 1, protocol_type=None, group=name)
    subscription = encode_stored(ConsumerProtocolSubscription(topics=["other"]), 1)
    member = group.join(group_instance_id="one", protocols={"range": subscription, "other": b"?"}).member_id
    group.commit((0, 1), (1, 1), generation_id_or_member_epoch=1, member_id=member)
    group.delete_offsets(0)
    group.leave((member, "one"))
    for version in (6, 7):
        member = group.join(version, group_instance_id="one", protocols={"": b""}).member_id
        group.delete_offsets(0)
        group.leave((member, "one"))


def static_members_of_a_classic_group(group: RawGroup) -> None:
    first = group.join(group_instance_id="one").member_id
    generation = 1
    group.sync(first, generation, assignments={first: b"a"}, group_instance_id="one")
    group.heartbeat(first, generation, group_instance_id="one")
    group.heartbeat(first, generation, group_instance_id="two")
    group.heartbeat("nobody", generation, group_instance_id="one")
    second = group.join(group_instance_id="one").member_id
    for wrong in (first, "nobody"):
        group.heartbeat(wrong, generation, group_instance_id="one")
        group.sync(wrong, generation, group_instance_id="one")
        group.join(member_id=wrong, group_instance_id="one")
        said = {"generation_id_or_member_epoch": generation, "group_instance_id": "one"}
        group.commit((0, 1), member_id=wrong, **said)
        group.leave((wrong, "one"))
    group.heartbeat(first, generation)
    group.heartbeat(second, generation, group_instance_id="one")
    group.sync(second, generation, group_instance_id="one")
    group.describe()
    group.leave(("", "two"), ("", "one"), ("", "one"))
    group.describe()


def a_member_of_a_consumer_group(group: RawGroup) -> None:
    group.consumer_join("", version=1)
    group.consumer_join(" ", version=1)
    group.consumer_join("a", group=" ")
    group.consumer_heartbeat("a", -5)
    group.consumer_heartbeat("a", -1)
    group.consumer_join("a", topic_partitions=None)
    group.consumer_join("a", rebalance_timeout_ms=-1)
    group.consumer_join("a", subscribed_topic_names=None)
    group.consumer_join("a", server_assignor="no-such-assignor")
    group.consumer_join("a", instance_id="")
    group.consumer_join("a", rack_id="")
    group.consumer_join("a", subscribed_topic_regex="(", subscribed_topic_names=None)
    group.consumer_heartbeat("a", -3)
    group.consumer_heartbeat("a", -2)
    epoch = group.consumer_join("a").member_epoch
    group.consumer_heartbeat("a", epoch + 1, topic_partitions=[])
    group.consumer_heartbeat("b", epoch, topic_partitions=[])
    group.consumer_heartbeat("b", -1)
    for version in COMMIT_VERSIONS:
        said = {"generation_id_or_member_epoch": epoch, "member_id": "a"}
        group.commit((0, 1), version=version, **said)
        for wrong in (
            {"generation_id_or_member_epoch": epoch + 1},
            {"generation_id_or_member_epoch": -1},
            {"member_id": "b"},
            {"generation_id_or_member_epoch": -1, "member_id": ""},
        ):
            group.commit((0, 1), version=version, **(said | wrong))
    for version in (9, 10):
        group.fetch(0, version=version, member_id="a", member_epoch=epoch)
        group.fetch(0, version=version, member_id="a", member_epoch=epoch + 1)
        group.fetch(0, version=version, member_id="b", member_epoch=epoch)
        group.fetch(0, version=version)
    group.fetch(0, version=8)
    group.delete_offsets(0)
    group.delete()
    group.describe()
    group.heartbeat("a", epoch)
    group.sync("a", epoch)
    group.join(protocols={"range": b"not a subscription"})
    group.join(protocol_type="connect")
    group.join(protocols={})
    group.leave(("a", None))
    group.consumer_heartbeat("a", -1)
    group.delete_offsets(0)
    group.commit((0, 3))
    group.fetch(0)
    group.delete()
    group.consumer_heartbeat("a", 1, topic_partitions=[])


def static_members_of_a_consumer_group(group: RawGroup) -> None:
    epoch = group.consumer_join("a", instance_id="one").member_epoch
    group.consumer_join("b", instance_id="one")
    group.consumer_heartbeat("b", epoch, instance_id="one", topic_partitions=[])
    group.consumer_heartbeat("b", -2, instance_id="one")
    group.consumer_heartbeat("a", -2, instance_id="two")
    group.consumer_heartbeat("a", -2, instance_id="one")
    group.consumer_join("b", instance_id="one")
    group.consumer_heartbeat("a", epoch, instance_id="one", topic_partitions=[])
    group.consumer_join("a", instance_id="one")
    group.consumer_heartbeat("b", -1, instance_id="one")
    group.delete()


COURSES = (
    offsets_of_a_group_that_nobody_is_in,
    a_group_whose_last_offset_is_deleted,
    offsets_that_a_transaction_may_replace,
    commits_that_cannot_be,
    a_member_of_a_classic_group,
    requests_without_a_group,
    a_group_that_nobody_stays_in,
    a_rebalance_of_a_classic_group,
    protocols_of_a_classic_group,
    static_members_of_a_classic_group,
    a_member_of_a_consumer_group,
    static_members_of_a_consumer_group,
)


@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.__name__)
def test_kafka_answers_the_same(
    node: ServerProcess, kafka: KafkaBroker, topic: str, course: Callable[[RawGroup], None]
) -> None:
    groups = [RawGroup(running.bootstrap, f"g-{topic}", topic) for running in (node, kafka)]
    for group in groups:
        course(group)
    ours, theirs = (group.transcript for group in groups)
    assert len(ours) == len(theirs)
    assert ours == theirs


def test_kafka_says_the_same_of_heartbeats_that_cannot_be(node: ServerProcess, kafka: KafkaBroker, topic: str) -> None:
    def said(bootstrap: str) -> list[tuple[int, str | None]]:
        group = RawGroup(bootstrap, f"g-{topic}", topic)
        answers = [
            group.consumer_join("", group=""),
            group.consumer_join("a", group="", instance_id=""),
            group.consumer_join("a", instance_id=""),
            group.consumer_heartbeat("a", -2),
            group.consumer_heartbeat("a", -2, server_assignor="x"),
            group.consumer_heartbeat("a", -2, instance_id="one", server_assignor="x"),
            group.consumer_heartbeat("a", -3, server_assignor="x"),
            group.consumer_join("a", subscribed_topic_regex="(", subscribed_topic_names=None),
        ]
        return [(answer.error_code, answer.error_message) for answer in answers]

    assert said(node.bootstrap) == said(kafka.bootstrap)


def test_a_member_without_an_expression_has_an_empty_one(node: ServerProcess, kafka: KafkaBroker, topic: str) -> None:
    for running in (node, kafka):
        group = RawGroup(running.bootstrap, f"g-{topic}", topic)
        group.consumer_join("a")
        (described,) = group.say(ConsumerGroupDescribeRequest(group_ids=[group.group]), 1).groups
        assert [member.subscribed_topic_regex for member in described.members] == [""]

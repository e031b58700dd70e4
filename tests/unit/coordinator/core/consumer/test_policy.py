"""What a group's configuration does to a consumer group: admission, pausing, draining, size."""

from typing import Any

from consumer_course import Course

from millstream_cluster import records as r
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit, begin, commit, expire
from millstream_wire.errors import ErrorCode


def configure(course: Course, **values: str | None) -> None:
    for name, value in values.items():
        key = name.replace("__", ".")
        course._metadata(r.ConfigChanged(r.ResourceType.GROUP, "g", key, value))


def numbers(assignment: Any) -> list[int]:
    return sorted(partition for _, partition in assignment)


def test_a_closed_group_keeps_who_is_in_and_admits_nobody(course: Course) -> None:
    course.create("t")
    assert course.join("a", "t").error is ErrorCode.NONE
    configure(course, admission="closed")
    refused = course.join("b", "t")
    assert refused.error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert "admits no members" in str(refused.message)
    assert course.heartbeat("a", 1).error is ErrorCode.NONE
    assert course.join("a", "t").error is ErrorCode.NONE, "it lost its epoch, not its membership"
    configure(course, admission=None)
    assert course.join("b", "t").error is ErrorCode.NONE


def test_where_topics_are_declared_others_are_refused_and_those_of_expressions_left_out(course: Course) -> None:
    for name in ("t", "u"):
        course.create(name, 2)
    configure(course, admission="declared", admission__topics="t, v")
    refused = course.join("a", "t", "u")
    assert (refused.error, "not for u" in str(refused.message)) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, True)
    assert numbers(course.join("a", "t").assignment) == [0, 1]
    changed = course.heartbeat("a", 1, topics=("t", "u"))
    assert changed.error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    course.heartbeat("a", -1)
    assert numbers(course.join("b", topics=(), regex=".*").assignment) == [0, 1]
    configure(course, admission__topics="t,u")
    epoch = course.shard.consumers["g"].epoch
    assert numbers(course.heartbeat("b", epoch).assignment) == [0, 0, 1, 1], "what is declared later is given later"


def test_a_paused_group_gives_everything_up_and_gets_it_back(course: Course) -> None:
    course.create("t")
    had = course.join("a", "t").assignment
    configure(course, paused="true")
    asked = course.heartbeat("a", 1)
    assert (asked.member_epoch, asked.assignment) == (1, frozenset())
    assert course.heartbeat("a", 1, reported=frozenset()).member_epoch == 2
    assert course.join("b", "t").assignment == frozenset(), "it may join and has to wait like the rest"
    epoch = course.shard.consumers["g"].epoch
    for heard in (epoch - 1, epoch, epoch):
        assert course.heartbeat("a", heard).error is ErrorCode.NONE
        assert course.shard.consumers["g"].epoch == epoch, "nothing is assigned again and again"
    configure(course, paused=None)
    first = course.heartbeat("a", epoch).assignment
    second = course.heartbeat("b", epoch).assignment
    assert first | second == had
    assert not first & second


def test_members_of_a_drained_group_give_up_and_then_have_to_go(course: Course) -> None:
    course.create("t")
    course.join("a", "t", instance_id="one")
    configure(course, drain="true")
    assert course.join("b", "t").error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    asked = course.heartbeat("a", 1, instance_id="one")
    assert (asked.error, asked.assignment) == (ErrorCode.NONE, frozenset())
    offset = OffsetToCommit(topic="t", partition=0, offset=7)
    last = CommitRequest(group_id="g", generation=1, member_id="a", offsets=(offset,), knows_epochs=True)
    course.write(commit(course.shard, last, course.now_ms))
    assert course.shard.offsets["g"]["t", 0].offset == 7, "what it read last it may still commit"
    assert course.heartbeat("a", 1, instance_id="one", reported=frozenset()).error is ErrorCode.NONE
    gone = course.heartbeat("a", 2, instance_id="one")
    assert (gone.error, "drained" in str(gone.message)) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, True)
    assert course.shard.consumers["g"].members == {}
    assert course.replayed().consumers == course.shard.consumers


def test_the_groups_own_size_counts(course: Course) -> None:
    course.create("t")
    configure(course, max__size="1")
    course.join("a", "t")
    assert course.join("b", "t").error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_group_begins_where_it_is_told_and_only_where_nothing_is_committed(course: Course) -> None:
    course.write(begin(course.shard, "g", {("t", 0): 5, ("t", 1): 6}, course.now_ms))
    course.write(begin(course.shard, "g", {("t", 0): 9, ("t", 2): 7}, course.now_ms))
    assert {key: each.offset for key, each in course.shard.offsets["g"].items()} == {
        ("t", 0): 5,
        ("t", 1): 6,
        ("t", 2): 7,
    }


def test_a_group_may_keep_its_offsets_longer_than_others(course: Course) -> None:
    for group_id in ("g", "h"):
        course.write(begin(course.shard, group_id, {("t", 0): 5}, course.now_ms))
    own = {"g": 10_000}
    decision = expire(course.shard, retention_ms=1_000, now_ms=course.now_ms + 5_000, of_group=own.get)
    course.write(decision)
    assert course.shard.offsets.keys() == {"g"}

"""Share groups, told as stories: who joins, what it is given to read, and what happens to what the group has read."""

import pytest
from share_course import ShareCourse

from millstream_coordinator.core.commands.consumer_heartbeat import on_heartbeat
from millstream_coordinator.core.commands.offsets import (
    CommitRequest,
    OffsetToCommit,
    commit,
    delete_group,
    delete_offsets,
    expire,
)
from millstream_coordinator.core.commands.share_partitions import (
    begin_anew,
    begin_deletion,
    forget_missing_topics,
    state_deleted,
)
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_wire.errors import ErrorCode


def test_the_first_member_reads_what_it_asks_for_once_its_state_has_begun(course: ShareCourse) -> None:
    topic_id = course.create("t", 2)
    both = frozenset({(topic_id, 0), (topic_id, 1)})
    said = course.say("m", 0, ("t", "missing"))
    assert (said.answer.member_epoch, said.answer.assignment) == (1, frozenset())
    assert (said.initializing, said.state_epoch) == (both, 1)
    assert said.answer.heartbeat_interval_ms == 1_000
    course.begin(said.initializing)
    again = course.say("m", 1)
    assert (again.answer.member_epoch, again.answer.assignment, again.initializing) == (2, both, frozenset())
    assert again.answer.heartbeat_interval_ms == 5_000
    quiet = course.heartbeat("m", 2)
    assert (quiet.member_epoch, quiet.assignment) == (2, None)


def test_more_members_than_partitions_share_them(course: ShareCourse) -> None:
    topic_id = course.create("t", 2)
    for member_id in ("a", "b", "c"):
        course.join(member_id, "t")
    for member_id in ("a", "b", "c"):
        course.heartbeat(member_id, course.group.current(member_id).epoch)
    given = sorted(partition for each in course.group.currents.values() for _, partition in each.assigned)
    assert given in ([0, 0, 1], [0, 1, 1])
    assert all(len(each.assigned) == 1 for each in course.group.currents.values())
    assert {each[0] for current in course.group.currents.values() for each in current.assigned} == {topic_id}
    assert course.join("d", "t").error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_who_leaves_or_falls_silent_is_replaced(course: ShareCourse) -> None:
    course.create("t", 2)
    course.join("a", "t")
    course.join("b", "t")
    course.pass_time(30_000)
    course.heartbeat("a", course.group.current("a").epoch)
    assert course.pass_time(15_000) == {"b"}
    assert len(course.heartbeat("a", course.group.current("a").epoch).assignment or ()) == 2
    assert course.heartbeat("a", -1).member_epoch == -1
    assert not course.group.members
    assert course.heartbeat("a", -1).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_that_are_not_the_members_are_fenced_but_for_the_one_before(course: ShareCourse) -> None:
    course.create("t")
    epoch = course.join("m", "t").member_epoch
    assert course.heartbeat("m", epoch + 1).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert course.heartbeat("m", epoch - 1).assignment is not None
    course.join("other", "t")
    course.heartbeat("m", epoch)
    assert course.heartbeat("m", epoch - 1).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert course.heartbeat("nobody", epoch).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_topic_that_grows_is_read_once_the_new_partitions_state_has_begun(course: ShareCourse) -> None:
    topic_id = course.create("t", 1)
    epoch = course.join("m", "t").member_epoch
    course.grow("t", 2)
    said = course.say("m", epoch)
    assert said.initializing == {(topic_id, 1)}
    course.begin(said.initializing)
    assert course.heartbeat("m", said.answer.member_epoch).assignment == {(topic_id, 0), (topic_id, 1)}


def test_what_could_not_be_begun_is_asked_for_again(course: ShareCourse) -> None:
    topic_id = course.create("t", 2)
    said = course.say("m", 0, ("t",))
    course.begin(frozenset({(topic_id, 1)}))
    again = course.say("m", said.answer.member_epoch)
    assert (again.answer.assignment, again.initializing) == ({(topic_id, 1)}, {(topic_id, 0)})


def test_a_deleted_topic_is_forgotten_and_read_no_more(course: ShareCourse) -> None:
    course.create("t", 2)
    left = course.create("u", 1)
    epoch = course.join("m", "t", "u").member_epoch
    course.delete("t")
    course.write(forget_missing_topics(course.shard, course.image))
    assert set(course.group.kept.names) == {left}
    assert course.heartbeat("m", epoch).assignment == {(left, 0)}


def test_an_empty_group_goes_on_elsewhere(course: ShareCourse) -> None:
    topic_id = course.create("t", 2)
    epoch = course.join("m", "t").member_epoch
    first = frozenset({(topic_id, 0)})
    assert begin_anew(course.shard, "g", first, {topic_id: "t"}).reply.error is ErrorCode.NON_EMPTY_GROUP
    course.heartbeat("m", -1)
    decision = begin_anew(course.shard, "g", first, {topic_id: "t"})
    course.write(decision)
    assert decision.reply.state_epoch > epoch
    assert course.group.kept.initializing == decision.reply.partitions == first
    course.begin(first)
    assert course.group.kept.initialized == {(topic_id, 0), (topic_id, 1)}


def test_an_administrator_says_where_a_group_begins_that_nobody_has_joined_yet(course: ShareCourse) -> None:
    topic_id = course.create("t", 1)
    first = frozenset({(topic_id, 0)})
    course.write(begin_anew(course.shard, "g", first, {topic_id: "t"}))
    course.begin(first)
    said = course.say("m", 0, ("t",))
    assert (said.answer.assignment, said.initializing) == (first, frozenset())


def test_a_group_is_deleted_after_its_state(course: ShareCourse) -> None:
    course.create("t", 2)
    course.join("m", "t")
    assert delete_group(course.shard, "g").reply.error is ErrorCode.NON_EMPTY_GROUP
    assert course.forget().error is ErrorCode.NON_EMPTY_GROUP
    course.heartbeat("m", -1)
    assert delete_group(course.shard, "g").reply.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(course.forget().partitions) == 2
    course.write(delete_group(course.shard, "g"))
    assert not course.shard.knows("g")
    assert course.replayed().shares == {}
    assert course.forget().error is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_topic_is_begun_again_after_its_state_was_deleted(course: ShareCourse) -> None:
    topic_id = course.create("t", 1)
    course.join("m", "t")
    course.heartbeat("m", -1)
    course.write(begin_deletion(course.shard, "g", frozenset({topic_id}), course.image))
    # Half-way: whoever joins now waits until that is done.
    assert course.say("m", 0, ("t",)).initializing == frozenset()
    course.write(state_deleted(course.shard, "g", {topic_id}))
    assert course.say("m", course.group.current("m").epoch).initializing == {(topic_id, 0)}


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_share_group_is_of_no_other_protocol(course: ShareCourse, is_empty: bool) -> None:
    course.create("t")
    course.join("m", "t")
    if is_empty:
        course.heartbeat("m", -1)
    joining = HeartbeatRequest(group_id="g", member_id="c", member_epoch=0, topics=("t",), reported=frozenset())
    assert on_heartbeat(course.shard, joining, course.image, 0).reply.error is ErrorCode.GROUP_ID_NOT_FOUND
    offset = OffsetToCommit(topic="t", partition=0, offset=1)
    request = CommitRequest(group_id="g", offsets=(offset,), names_missing_group=True)
    assert commit(course.shard, request, 0).reply is ErrorCode.GROUP_ID_NOT_FOUND
    assert delete_offsets(course.shard, "g", [("t", 0)], 0).reply is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_of_another_protocol_or_with_offsets_only_is_no_share_group(course: ShareCourse) -> None:
    course.create("t")
    request = CommitRequest(group_id="g", offsets=(OffsetToCommit(topic="t", partition=0, offset=1),))
    course.write(commit(course.shard, request, course.now_ms))
    assert course.join("m", "t").error is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_share_group_does_not_expire(course: ShareCourse) -> None:
    course.create("t")
    course.join("m", "t")
    course.heartbeat("m", -1)
    course.write(expire(course.shard, retention_ms=1, now_ms=course.now_ms + 10**12))
    assert course.shard.knows("g")


def test_members_that_come_together_are_assigned_together() -> None:
    course = ShareCourse(GroupLimits(share=ShareLimits(assignment_interval_ms=1_000)))
    course.create("t", 2)
    assert len(course.join("a", "t").assignment or ()) == 2
    late = course.join("b", "t")
    assert (late.assignment, late.heartbeat_interval_ms) == (frozenset(), 1_000)
    course.now_ms += 1_000
    assert len(course.heartbeat("b", late.member_epoch).assignment or ()) == 1


def test_a_groups_configuration_holds_for_share_groups(course: ShareCourse) -> None:
    course.create("t")
    course.configure("share.heartbeat.interval.ms", "7000")
    epoch = course.join("m", "t").member_epoch
    assert course.heartbeat("m", epoch).heartbeat_interval_ms == 7_000
    course.configure("admission", "closed")
    assert course.join("n", "t").error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    course.configure("paused", "true")
    assert course.heartbeat("m", epoch).assignment == frozenset()

"""What members of a consumer group are told, from one heartbeat to the next."""

from typing import Any

import pytest
from consumer_course import Course

from millstream_cluster.decision import Decision
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.messages import JoinRequest, Ticket
from millstream_coordinator.core.classic.records import GroupStored
from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_coordinator.core.commands.conversion import make_room_for_classic
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit, commit, delete_group, expire
from millstream_coordinator.core.consumer.group import ConsumerGroupState
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.member import MemberState
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_wire.errors import ErrorCode


def numbers(assignment: Any) -> list[int]:
    return sorted(partition for _, partition in assignment)


def test_a_lone_member_gets_everything_at_once(course: Course) -> None:
    course.create("t")
    answer = course.join("a", "t")
    assert answer.error is ErrorCode.NONE
    assert (answer.member_epoch, numbers(answer.assignment)) == (1, [0, 1, 2, 3])
    assert course.shard.consumers["g"].state is ConsumerGroupState.STABLE
    again = course.heartbeat("a", 1)
    assert (again.member_epoch, again.assignment) == (1, None), "nothing changed, so nothing is said"


def test_the_first_gives_up_before_the_second_gets(course: Course) -> None:
    course.create("t")
    first = course.join("a", "t").assignment
    second = course.join("b", "t")
    assert (second.member_epoch, second.assignment) == (2, frozenset())
    assert course.shard.consumers["g"].current("b").state is MemberState.UNRELEASED_PARTITIONS
    asked = course.heartbeat("a", 1)
    assert asked.member_epoch == 1, "it stays in its epoch until it has given up"
    assert len(asked.assignment) == 2
    assert course.heartbeat("b", 2).assignment is None, "still not free"
    assert course.heartbeat("a", 1, reported=first).member_epoch == 1, "it has not given up yet"
    gave_up = course.heartbeat("a", 1, reported=asked.assignment)
    assert (gave_up.member_epoch, gave_up.assignment) == (2, None)
    got = course.heartbeat("b", 2)
    assert got.assignment == first - asked.assignment
    assert course.shard.consumers["g"].state is ConsumerGroupState.STABLE


def test_who_does_not_give_up_in_time_is_removed(course: Course) -> None:
    course.create("t")
    course.join("a", "t", rebalance_timeout_ms=10_000)
    course.join("b", "t")
    course.heartbeat("a", 1)
    for _ in range(4):
        assert course.pass_time(3_000) in (set(), {"a"})
        course.heartbeat("a", 1)
    assert course.heartbeat("a", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(course.heartbeat("b", 2).assignment) == 4


def test_a_silent_member_is_removed_and_its_partitions_go_to_the_rest(course: Course) -> None:
    course.create("t")
    course.join("a", "t")
    course.pass_time(40_000)
    course.join("b", "t")
    assert course.pass_time(5_001) == {"a"}
    answer = course.heartbeat("b", 2)
    assert (answer.member_epoch, numbers(answer.assignment)) == (3, [0, 1, 2, 3])


def test_a_member_that_leaves_makes_way(course: Course) -> None:
    course.create("t")
    course.join("a", "t")
    course.join("b", "t")
    assert course.heartbeat("a", -1).member_epoch == -1
    assert numbers(course.heartbeat("b", 2).assignment) == [0, 1, 2, 3]
    course.heartbeat("b", -1)
    assert course.shard.consumers["g"].state is ConsumerGroupState.EMPTY
    assert course.heartbeat("b", -1).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_of_another_epoch_is_fenced_unless_it_missed_our_answer(course: Course) -> None:
    course.create("t")
    course.join("a", "t")
    course.create("u")
    had = course.heartbeat("a", 1, topics=("t", "u"), reported=frozenset()).assignment
    assert len(had) == 8
    assert course.heartbeat("a", 3).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert course.heartbeat("a", 1).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert course.heartbeat("a", 1, reported=frozenset()).error is ErrorCode.NONE
    stranger = frozenset({(next(iter(had))[0], 99)})
    assert course.heartbeat("a", 1, reported=stranger).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert course.heartbeat("x", 2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert course.heartbeat("a", 2, "other").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert course.join("a", "t", "u").assignment == had, "it may always join again"


def test_a_static_member_that_went_away_finds_its_place(course: Course) -> None:
    course.create("t")
    course.join("a", "t", instance_id="i")
    course.join("b", "t")
    kept = course.heartbeat("a", 1).assignment
    course.heartbeat("a", 1, reported=kept)
    theirs = course.heartbeat("b", 2).assignment
    assert course.join("c", "t", instance_id="i").error is ErrorCode.UNRELEASED_INSTANCE_ID
    assert course.heartbeat("a", -2, instance_id="i").member_epoch == -2
    assert course.heartbeat("b", 2).assignment is None
    back = course.join("c", "t", instance_id="i")
    assert (back.error, back.member_epoch, back.assignment) == (ErrorCode.NONE, 2, kept)
    assert course.heartbeat("a", 2, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    assert course.heartbeat("b", 2).member_epoch == 2, "nobody else noticed"
    assert course.heartbeat("b", 2, topics=("t",), reported=theirs, rebalance_timeout_ms=1).assignment == theirs
    assert course.heartbeat("d", 2, instance_id="other").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_stays_away_is_removed_with_its_session(course: Course) -> None:
    course.create("t")
    course.join("a", "t", instance_id="i")
    course.heartbeat("a", -2, instance_id="i")
    assert course.pass_time(45_001) == {"a"}
    assert numbers(course.join("b", "t", instance_id="i").assignment) == [0, 1, 2, 3]


def test_new_partitions_and_topics_are_assigned_as_they_appear(course: Course) -> None:
    course.create("t", 1)
    assert len(course.join("a", "t", "later").assignment) == 1
    course.grow("t", 3)
    grown = course.heartbeat("a", 1)
    assert (grown.member_epoch, len(grown.assignment)) == (2, 3)
    course.create("unrelated")
    assert course.heartbeat("a", 2).member_epoch == 2
    course.create("later", 2)
    assert len(course.heartbeat("a", 2).assignment) == 5
    course.delete("t")
    asked = course.heartbeat("a", 3)
    assert (asked.member_epoch, len(asked.assignment)) == (3, 2)
    assert course.heartbeat("a", 3, reported=asked.assignment).member_epoch == 4


def test_a_regular_expression_follows_the_topics(course: Course) -> None:
    course.create("t-1", 2)
    course.create("other")
    answer = course.join("a", topics=None, regex=".*t-.*")
    assert len(answer.assignment) == 2
    course.create("t-2", 3)
    assert len(course.heartbeat("a", 1).assignment) == 5
    assert course.shard.consumers["g"].regexes.keys() == {".*t-.*"}
    by_name = course.heartbeat("a", 2, regex="", topics=("other",), reported=frozenset())
    assert len(by_name.assignment) == 4
    assert course.shard.consumers["g"].regexes == {}
    assert course.join("b", regex="(").error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert course.join("b", regex="(.*a){30}b" * 20).error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "b" not in course.shard.consumers["g"].members


def test_a_regular_expression_matches_only_what_who_has_it_resolved_may_see(course: Course) -> None:
    course.create("t-mine", 2)
    course.create("t-theirs", 3)
    mine = {"may_see": lambda topic: topic == "t-mine"}
    assert len(course.join("a", topics=None, regex="t-.*", **mine).assignment or ()) == 2
    assert course.shard.consumers["g"].regexes["t-.*"].topics == ("t-mine",)
    course.create("t-new", 1)
    assert course.heartbeat("a", 1, **mine).assignment is None, "what is new is not seen either"
    course.create("t-newer", 1)
    assert len(course.heartbeat("a", 1).assignment or ()) == 7, "another one sees all"


def test_a_regular_expression_matches_internal_topics_too_as_in_kafka(course: Course) -> None:
    course.create("__internal", 3)
    course.create("t", 2)
    assert len(course.join("a", topics=None, regex=".*t.*").assignment) == 5


def test_the_assignor_that_most_ask_for_is_used(course: Course) -> None:
    course.create("t", 4)
    course.create("u", 4)
    course.join("a", "t", "u", server_assignor="range")
    course.join("b", "t", "u", server_assignor="range")
    course.join("c", "t", "u", server_assignor="uniform")
    group = course.shard.consumers["g"]
    assert group.assignor("uniform") == "range"
    assert numbers(group.target("a")) == [0, 0, 1, 1]


def test_a_full_group_takes_no_more() -> None:
    course = Course(GroupLimits(consumer=ConsumerLimits(size_max=1)))
    course.create("t")
    course.join("a", "t")
    assert course.join("b", "t").error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert course.join("a", "t").error is ErrorCode.NONE


def test_members_that_come_together_are_assigned_together() -> None:
    course = Course(GroupLimits(consumer=ConsumerLimits(assignment_interval_ms=1_000)))
    course.create("t")
    course.join("a", "t")
    course.now_ms += 400
    waits = course.join("b", "t")
    assert (waits.member_epoch, waits.assignment, waits.heartbeat_interval_ms) == (1, frozenset(), 600)
    assert course.shard.consumers["g"].state is ConsumerGroupState.ASSIGNING
    course.join("c", "t")
    course.now_ms += 600
    assert course.heartbeat("b", 1).member_epoch == 3
    assert course.heartbeat("c", 1).member_epoch == 3


def test_members_of_a_group_that_settles_are_asked_more_often(course: Course) -> None:
    course.create("t")
    first = course.join("a", "t")
    assert first.heartbeat_interval_ms == 1_000, "others may come right behind it"
    course.now_ms += 5_000
    assert course.heartbeat("a", 1).heartbeat_interval_ms == 5_000
    course.join("b", "t")
    course.now_ms += 6_000
    assert course.heartbeat("b", 2).heartbeat_interval_ms == 1_000, "it waits for partitions that another one has"
    asked = course.heartbeat("a", 1)
    assert asked.heartbeat_interval_ms == 5_000, "it answers as soon as it has given them up"
    course.heartbeat("a", 1, reported=asked.assignment)
    assert course.heartbeat("b", 2).heartbeat_interval_ms == 5_000


def test_commits_are_for_who_has_the_partition(course: Course) -> None:
    topic_id = course.create("t")

    def answer(member_id: str, epoch: int, partition: int = 0, **more: Any) -> ErrorCode:
        offset = OffsetToCommit(topic="t", topic_id=topic_id, partition=partition, offset=1)
        request = CommitRequest(
            group_id="g",
            member_id=member_id,
            generation=epoch,
            offsets=(offset,),
            **{"knows_epochs": True, **more},
        )
        decision = commit(course.shard, request, course.now_ms)
        course.write(decision)
        return decision.reply

    course.join("a", "t")
    assert answer("a", 1) is ErrorCode.NONE
    assert answer("", -1) is ErrorCode.UNKNOWN_MEMBER_ID, "an administrator, while somebody reads"
    assert answer("x", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert answer("a", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert answer("a", 1, knows_epochs=False) is ErrorCode.UNSUPPORTED_VERSION
    course.create("u")
    course.heartbeat("a", 1, topics=("t", "u"), reported=frozenset())
    assert answer("a", 1) is ErrorCode.NONE, "it has had it since then"
    assert answer("a", 1, partition=7) is ErrorCode.STALE_MEMBER_EPOCH
    course.heartbeat("a", -1)
    assert answer("", -1) is ErrorCode.NONE


def test_an_empty_group_of_the_other_protocol_is_taken_over_with_its_offsets(course: Course) -> None:
    course.create("t")
    stored = StoredGroup(
        group_id="g", protocol_type="consumer", generation=3, protocol=None, leader=None, state_timestamp_ms=0
    )
    course.write(Decision((GroupStored(stored),), None))
    course.shard.begin(course.now_ms)
    offset = OffsetToCommit(topic="t", partition=0, offset=5)
    course.write(commit(course.shard, CommitRequest(group_id="g", offsets=(offset,)), 0))
    assert course.join("a", "t").error is ErrorCode.NONE
    assert "g" not in course.shard.groups
    assert course.shard.offsets["g"]["t", 0].offset == 5
    course.heartbeat("a", -1)
    course.write(make_room_for_classic(course.shard, "g"))
    assert course.shard.consumers == {}
    assert course.replayed().consumers == {}
    assert course.shard.offsets["g"]["t", 0].offset == 5


def test_a_live_group_whose_members_we_cannot_read_is_left_alone(course: Course) -> None:
    course.create("t")
    request = JoinRequest(
        ticket=Ticket(1),
        new_member_id="m",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(MemberProtocol("range", b""),),
        requires_known_member_id=False,
    )
    on_join(course.shard.enter("g", 0), request, 0)
    assert course.join("a", "t").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert course.shard.consumers == {}


@pytest.mark.parametrize("end", ["delete", "expire"])
def test_an_empty_group_ends_without_a_trace(course: Course, end: str) -> None:
    course.create("t")
    course.join("a", "t")
    assert delete_group(course.shard, "g").reply.error is ErrorCode.NON_EMPTY_GROUP
    assert expire(course.shard, retention_ms=1, now_ms=course.now_ms + 10).records == ()
    course.heartbeat("a", -1)
    if end == "delete":
        decision = delete_group(course.shard, "g")
    else:
        decision = expire(course.shard, retention_ms=1, now_ms=course.now_ms + 10)
    course.write(decision)
    assert not course.shard.knows("g")
    live = {key for key, value in course.log if value is not None}
    dead = {key for key, value in course.log if value is None}
    assert live <= dead
    assert not course.replayed().consumers


def test_a_new_owner_gives_everyone_a_whole_session(course: Course) -> None:
    course.create("t")
    course.join("a", "t")
    course.join("b", "t", rebalance_timeout_ms=50_000)
    course.heartbeat("a", 1)
    course.shard = course.replayed()
    course.now_ms += 1_000_000
    course.shard.begin(course.now_ms)
    assert course.pass_time(44_999) == set()
    kept = course.shard.consumers["g"].current("a").assigned
    assert course.heartbeat("a", 1, reported=frozenset(kept)).member_epoch == 2
    assert course.pass_time(2) == {"b"}


def test_a_subscription_too_large_for_the_log_is_refused(course: Course) -> None:
    course.create("t")
    names = tuple(f"{number:0240}" for number in range(5_000))
    assert course.join("a", *names).error is ErrorCode.INVALID_REQUEST
    assert course.shard.consumers == {}
    assert course.shard.sessions.deadline() is None

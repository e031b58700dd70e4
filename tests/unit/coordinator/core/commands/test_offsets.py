"""Committed offsets: what is decided about them, and that the log alone says what they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.decision import Decision
from millstream_coordinator.core.classic.deadlines import on_deadline
from millstream_coordinator.core.classic.group import GroupState
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.messages import JoinRequest, Ticket
from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.classic.stored_group import StoredGroup, StoredMember
from millstream_coordinator.core.commands.offsets import (
    REMOVALS_MAX,
    CommitRequest,
    OffsetToCommit,
    commit,
    delete_group,
    delete_offsets,
    expire,
    remove_topic,
)
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved, ShardRecord
from millstream_coordinator.core.journal.bounds import Removal
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_wire.codec import encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.stored import ConsumerProtocolSubscription

LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
SUBSCRIPTION = encode_stored(ConsumerProtocolSubscription(topics=["read"]), 0)


def offset(at: int, topic: str = "t", partition: int = 0, metadata: str = "") -> OffsetToCommit:
    return OffsetToCommit(topic=topic, partition=partition, offset=at, metadata=metadata)


def simple(*offsets: OffsetToCommit, group_id: str = "g") -> CommitRequest:
    return CommitRequest(group_id=group_id, offsets=offsets)


def as_member(generation: int, member_id: str = "m", names_missing_group: bool = False) -> CommitRequest:
    return CommitRequest(
        group_id="g",
        generation=generation,
        member_id=member_id,
        offsets=(offset(5),),
        names_missing_group=names_missing_group,
    )


def apply_all(shard: GroupShard, decision: Decision[ShardRecord, Any]) -> None:
    for record in decision.records:
        shard.apply(record)
    for change in decision.then:
        change.make(shard)
    shard.check()


def stored_group(members: int = 1, state_timestamp_ms: int = 1_000) -> StoredGroup:
    return StoredGroup(
        group_id="g",
        protocol_type="consumer",
        generation=3,
        protocol="range" if members else None,
        leader="m" if members else None,
        state_timestamp_ms=state_timestamp_ms,
        members=tuple(
            StoredMember(
                member_id="m" if number == 0 else f"m{number}",
                group_instance_id=None,
                client_id="c",
                client_host="/h",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=10_000,
                subscription=SUBSCRIPTION,
                assignment=b"A",
            )
            for number in range(members)
        ),
    )


def with_group(members: int = 1, state_timestamp_ms: int = 1_000) -> GroupShard:
    shard = GroupShard(LIMITS)
    shard.apply(GroupStored(stored_group(members, state_timestamp_ms)))
    shard.begin(0)
    return shard


def test_a_simple_commit_needs_no_group() -> None:
    shard = GroupShard(LIMITS)
    decision = commit(shard, simple(offset(7, metadata="note")), 50)
    committed = CommittedOffset(offset=7, metadata="note", commit_timestamp_ms=50)
    assert decision.records == (OffsetCommitted("g", "t", 0, committed),)
    assert decision.reply is ErrorCode.NONE
    apply_all(shard, decision)
    assert shard.state_of("g") is GroupState.EMPTY
    assert shard.state_of("other") is GroupState.DEAD


def test_a_member_of_this_generation_commits_and_is_heard_of() -> None:
    shard = with_group()
    decision = commit(shard, as_member(3), 5_000)
    assert decision.reply is ErrorCode.NONE
    apply_all(shard, decision)
    assert shard.groups["g"].members["m"].deadline_ms == 15_000


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (as_member(2), ErrorCode.ILLEGAL_GENERATION),
        (as_member(3, "stranger"), ErrorCode.UNKNOWN_MEMBER_ID),
        (simple(offset(1)), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_live_group_takes_commits_of_its_members_only(request_: CommitRequest, error: ErrorCode) -> None:
    decision = commit(with_group(), request_, 0)
    assert (decision.records, decision.reply) == ((), error)


def test_a_generation_of_a_group_nobody_knows_is_refused() -> None:
    assert commit(GroupShard(LIMITS), as_member(3), 0).reply is ErrorCode.ILLEGAL_GENERATION
    assert commit(GroupShard(LIMITS), as_member(3, names_missing_group=True), 0).reply is ErrorCode.GROUP_ID_NOT_FOUND


def test_between_generations_a_member_has_to_join_first() -> None:
    shard = GroupShard(LIMITS)
    group = shard.enter("g", 0)
    request = JoinRequest(
        ticket=Ticket(1),
        new_member_id="m",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(MemberProtocol("range", SUBSCRIPTION),),
        requires_known_member_id=False,
    )
    on_join(group, request, 0)
    on_deadline(group, 0)
    assert group.state is GroupState.COMPLETING_REBALANCE
    assert commit(shard, as_member(1), 0).reply is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_that_no_batch_could_hold_is_refused_whole() -> None:
    offsets = [offset(1, partition=number, metadata="x" * 4_000) for number in range(300)]
    decision = commit(GroupShard(LIMITS), simple(*offsets), 0)
    assert (decision.records, decision.reply) == ((), ErrorCode.INVALID_COMMIT_OFFSET_SIZE)


def test_offsets_of_topics_that_a_live_group_reads_stay() -> None:
    shard = with_group()
    for topic in ("read", "other"):
        shard.apply(OffsetCommitted("g", topic, 0, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    decision = delete_offsets(shard, "g", [("read", 0), ("other", 0), ("other", 9)], 0)
    assert decision.reply == {
        ("read", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("other", 0): ErrorCode.NONE,
        ("other", 9): ErrorCode.NONE,
    }
    assert decision.records == (OffsetRemoved("g", "other", 0),)
    assert delete_offsets(shard, "nobody", [], 0).reply is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_of_offsets_only_outlives_the_last_one_until_the_next_sweep() -> None:
    for ends in (delete_group, lambda shard, _: expire(shard, retention_ms=1_000, now_ms=5_000)):
        shard = GroupShard(LIMITS)
        apply_all(shard, commit(shard, simple(offset(1)), 0))
        apply_all(shard, delete_offsets(shard, "g", [("t", 0)], 0))
        assert not shard.offsets
        assert list(shard.group_ids()) == ["g"]
        assert shard.state_of("g") is GroupState.EMPTY
        assert delete_offsets(shard, "g", [("t", 0)], 0).reply == {("t", 0): ErrorCode.NONE}
        decision = ends(shard, "g")
        assert decision.records == ()
        assert decision.reply == Removal()
        apply_all(shard, decision)
        assert not shard.knows("g")
        assert shard.state_of("g") is GroupState.DEAD


def test_a_group_is_deleted_only_when_nobody_is_in_it() -> None:
    assert delete_group(with_group(), "g").reply == Removal(ErrorCode.NON_EMPTY_GROUP)
    assert delete_group(with_group(), "x").reply == Removal(ErrorCode.GROUP_ID_NOT_FOUND)
    shard = with_group(members=0)
    group = shard.groups["g"]
    shard.apply(OffsetCommitted("g", "t", 0, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    decision = delete_group(shard, "g")
    assert decision.records == (OffsetRemoved("g", "t", 0), GroupRemoved("g"))
    apply_all(shard, decision)
    assert not shard.knows("g")
    assert group.state is GroupState.DEAD


def test_a_group_with_very_many_offsets_is_deleted_in_steps() -> None:
    shard = GroupShard(LIMITS)
    for partition in range(REMOVALS_MAX + 1):
        shard.apply(OffsetCommitted("g", "t", partition, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    first = delete_group(shard, "g")
    assert (len(first.records), first.reply) == (REMOVALS_MAX, Removal(more=True))
    apply_all(shard, first)
    second = delete_group(shard, "g")
    assert (len(second.records), second.reply) == (1, Removal())


def test_offsets_expire_only_once_their_group_is_long_empty() -> None:
    def decided(shard: GroupShard, now_ms: int) -> tuple[ShardRecord, ...]:
        return expire(shard, retention_ms=1_000, now_ms=now_ms).records

    live = with_group()
    live.apply(OffsetCommitted("g", "t", 0, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    assert decided(live, 10**9) == ()

    emptied = with_group(members=0, state_timestamp_ms=5_000)
    emptied.apply(OffsetCommitted("g", "t", 0, CommittedOffset(offset=1, commit_timestamp_ms=100)))
    assert decided(emptied, 5_999) == ()
    assert decided(emptied, 6_000) == (OffsetRemoved("g", "t", 0), GroupRemoved("g"))

    reset_later = with_group(members=0, state_timestamp_ms=5_000)
    reset_later.apply(OffsetCommitted("g", "t", 0, CommittedOffset(offset=0, commit_timestamp_ms=9_000)))
    assert decided(reset_later, 9_999) == ()

    offsets_only = GroupShard(LIMITS)
    offsets_only.apply(OffsetCommitted("g", "t", 0, CommittedOffset(offset=1, commit_timestamp_ms=100)))
    assert decided(offsets_only, 1_100) == (OffsetRemoved("g", "t", 0),)


def test_offsets_go_with_their_topic() -> None:
    shard = GroupShard(LIMITS)
    for topic in ("a", "b"):
        shard.apply(OffsetCommitted("g", topic, 0, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    decision = remove_topic(shard, "a", 0)
    assert (decision.records, decision.reply) == ((OffsetRemoved("g", "a", 0),), Removal())


def test_a_group_of_offsets_stays_one_until_the_sweep_after_its_topic_is_deleted() -> None:
    shard = GroupShard(LIMITS)
    shard.apply(OffsetCommitted("g", "a", 0, CommittedOffset(offset=1, commit_timestamp_ms=0)))
    apply_all(shard, remove_topic(shard, "a", 0))
    assert shard.state_of("g") is GroupState.EMPTY
    apply_all(shard, expire(shard, retention_ms=1_000, now_ms=0))
    assert shard.state_of("g") is GroupState.DEAD


NAMES = st.sampled_from(["g", "h"])
RECORDS = st.one_of(
    st.builds(
        OffsetCommitted,
        NAMES,
        st.sampled_from(["t", "u"]),
        st.integers(0, 2),
        st.builds(
            CommittedOffset,
            offset=st.integers(0, 2**62),
            leader_epoch=st.integers(-1, 9),
            metadata=st.text(max_size=8),
            commit_timestamp_ms=st.integers(0, 2**40),
        ),
    ),
    st.builds(OffsetRemoved, NAMES, st.sampled_from(["t", "u"]), st.integers(0, 2)),
    st.sampled_from([GroupStored(stored_group(0)), GroupStored(stored_group(1)), GroupStored(stored_group(2))]),
    st.builds(GroupRemoved, NAMES),
    st.builds(ShardClaimed, st.integers(10_000, 19_999), st.integers(0, 32_767)),
)


@given(st.lists(RECORDS))
def test_replaying_the_log_gives_the_live_state(records: list[ShardRecord]) -> None:
    live, replayed = GroupShard(LIMITS), GroupShard(LIMITS)
    for record in records:
        live.apply(record)
        read_back = decode_record(*encode_record(record))
        assert read_back == record
        replayed.apply(read_back)
    live.check()
    assert (live.offsets, live.stored) == (replayed.offsets, replayed.stored)


@given(st.lists(RECORDS))
def test_a_compacted_log_gives_the_same_state(records: list[ShardRecord]) -> None:
    live, compacted = GroupShard(LIMITS), GroupShard(LIMITS)
    latest: dict[bytes, bytes | None] = {}
    for record in records:
        live.apply(record)
        key, value = encode_record(record)
        latest.pop(key, None)
        latest[key] = value
    for key, value in latest.items():
        read_back = decode_record(key, value)
        if read_back is not None:
            compacted.apply(read_back)
    assert (live.offsets, live.stored) == (compacted.offsets, compacted.stored)

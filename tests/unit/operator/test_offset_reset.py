"""A reset of a group's offsets: once per id, never over what somebody committed meanwhile, and never half done."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.offset_resets import LogRange, ShiftBy, ToEarliest, ToLatest, ToOffset, ToTime
from millstream_operator.plan.consumer_group import GroupSeen
from millstream_operator.plan.offset_reset import (
    DRAIN_MS_MAX,
    PARTITIONS_MAX,
    BackTo,
    Phase,
    Reset,
    Snapshot,
    had_its_turn,
    next_reset,
    wanted_reset,
)
from millstream_operator.plan.reset_status import (
    reset_condition,
    reset_fields,
    reset_of,
    snapshot_fields,
    snapshot_of,
)

A, B = ("orders", 0), ("orders", 1)
NOW_MS = 1_700_000_000_000


def group(committed: dict[tuple[str, int], int], *, members: int = 0, drains: bool = False, **more: Any) -> GroupSeen:
    return GroupSeen(
        state="Stable" if members else "Empty",
        type=more.get("type", "classic"),
        protocol="range",
        members=members,
        coordinator="c-0:9094",
        committed=committed,
        ranges={A: LogRange(0, 100), B: LogRange(0, 100)},
        configs={"drain": "true"} if drains else {},
    )


def spec(**reset: Any) -> dict[str, Any]:
    return {"topics": ["orders"], "offsets": {"reset": {"id": "first", "to": "Earliest", **reset}}}


def step(
    declared: dict[str, Any],
    last: Reset | None,
    seen: GroupSeen,
    snapshot: Snapshot | None = None,
    now_ms: int = NOW_MS,
) -> Reset | None:
    return next_reset(wanted_reset(declared, now_ms), last, seen, snapshot, {}, now_ms)


@pytest.mark.parametrize(
    ("to", "value", "destination"),
    [
        ("Earliest", None, ToEarliest()),
        ("Latest", None, ToLatest()),
        ("Timestamp", "2023-11-14T22:13:20Z", ToTime(NOW_MS)),
        ("Timestamp", "2023-11-14T23:13:20.5+01:00", ToTime(NOW_MS + 500)),
        ("Duration", "15m", ToTime(NOW_MS - 900_000)),
        ("Offset", "7", ToOffset(7)),
        ("ShiftBy", "+7", ShiftBy(7)),
        ("ShiftBy", "-7", ShiftBy(-7)),
        ("Snapshot", "first", BackTo("first")),
    ],
)
def test_each_destination_is_read_as_it_is_written(to: str, value: str | None, destination: Any) -> None:
    declared = {"id": "x", "to": to} if value is None else {"id": "x", "to": to, "value": value}
    wanted = wanted_reset({"offsets": {"reset": declared}}, NOW_MS)
    assert wanted is not None
    assert wanted.to == destination


def test_an_empty_group_is_moved_once_and_the_id_is_used_up() -> None:
    moving = step(spec(), None, group({A: 50, B: 60}))
    assert moving == Reset("first", Phase.MOVING, NOW_MS, before={A: 50, B: 60}, after={A: 0, B: 0})
    done = step(spec(), moving, group({A: 0, B: 0}))
    assert done is not None
    assert done.phase is Phase.DONE
    assert step(spec(), done, group({A: 30, B: 30})) is done
    again = step(spec(id="second"), done, group({A: 30, B: 30}))
    assert again is not None
    assert (again.id, again.phase) == ("second", Phase.MOVING)


def test_a_dry_run_ends_a_drain_that_is_under_way() -> None:
    draining = step(spec(whenActive="Drain"), None, group({A: 50, B: 60}, members=2))
    assert draining is not None
    assert draining.withholds
    stopped = step(spec(whenActive="Drain", dryRun=True), draining, group({A: 50, B: 60}, members=1, drains=True))
    assert stopped is not None
    assert (stopped.phase, stopped.withholds) == (Phase.PLANNED, False)
    again = step(spec(whenActive="Drain"), stopped, group({A: 50, B: 60}, members=2))
    assert again is not None
    assert again.phase is Phase.DRAINING


def test_a_dry_run_moves_nothing_and_is_done_by_the_same_id() -> None:
    planned = step(spec(dryRun=True), None, group({A: 50, B: 60}, members=2))
    assert planned is not None
    assert (planned.phase, planned.after) == (Phase.PLANNED, {A: 0, B: 0})
    assert step(spec(dryRun=True), planned, group({A: 50, B: 60}, members=2), now_ms=NOW_MS + 5) is planned
    later = step(spec(dryRun=True), planned, group({A: 55, B: 60}, members=2))
    assert later is not None
    assert later.before == {A: 55, B: 60}
    moving = step(spec(), planned, group({A: 55, B: 60}))
    assert moving is not None
    assert (moving.phase, moving.before) == (Phase.MOVING, {A: 55, B: 60})


def test_members_have_it_refused_for_good() -> None:
    refused = step(spec(), None, group({A: 50}, members=2))
    assert refused is not None
    assert refused.phase is Phase.REFUSED
    assert "has 2 members" in refused.message
    assert step(spec(), refused, group({A: 50})) is refused


def test_a_drained_group_is_moved_when_nobody_is_left_and_nobody_may_come() -> None:
    declared = spec(whenActive="Drain")
    draining = step(declared, None, group({A: 50}, members=2))
    assert draining is not None
    assert (draining.phase, draining.withholds) == (Phase.DRAINING, True)
    assert step(declared, draining, group({A: 55}, members=1, drains=True)) is draining
    assert step(declared, draining, group({A: 60})) is draining, "the door is not closed yet"
    moving = step(declared, draining, group({A: 60}, drains=True))
    assert moving is not None
    assert (moving.phase, moving.before, moving.withholds) == (Phase.MOVING, {A: 60, B: None}, True)
    done = step(declared, moving, group({A: 0, B: 0}, drains=True))
    assert done is not None
    assert (done.phase, done.withholds) == (Phase.DONE, False)


def test_members_that_do_not_leave_end_the_drain() -> None:
    declared = spec(whenActive="Drain")
    draining = step(declared, None, group({A: 50}, members=2))
    late = step(declared, draining, group({A: 50}, members=1, drains=True), now_ms=NOW_MS + DRAIN_MS_MAX + 1)
    assert late is not None
    assert (late.phase, late.withholds) == (Phase.REFUSED, False)


def test_a_reset_that_is_taken_back_under_way_is_over() -> None:
    draining = step(spec(whenActive="Drain"), None, group({A: 50}, members=2))
    taken_back = step({"topics": ["orders"]}, draining, group({A: 50}, members=2, drains=True))
    assert taken_back is not None
    assert (taken_back.phase, taken_back.withholds) == (Phase.REFUSED, False)
    assert step({}, taken_back, group({A: 50})) is taken_back


def test_what_somebody_committed_since_the_plan_stays() -> None:
    moving = step(spec(), None, group({A: 50, B: 60}))
    refused = step(spec(), moving, group({A: 51, B: 60}))
    assert refused is not None
    assert refused.phase is Phase.REFUSED
    assert "orders-0" in refused.message


@pytest.mark.parametrize(
    ("reset", "why"),
    [
        ({"to": "ShiftBy", "value": "-5"}, "committed nothing in orders-1"),
        ({"to": "Snapshot", "value": "zero"}, "no snapshot of a reset zero: there is none"),
        ({"topics": ["returns"]}, "nothing in returns"),
        ({"topics": ["orders"], "partitions": [7]}, "committed nothing"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(reset: dict[str, Any], why: str) -> None:
    for active in ("Refuse", "Drain"):
        refused = step(spec(whenActive=active, **reset), None, group({A: 50}, members=1))
        assert refused is not None
        assert refused.phase is Phase.REFUSED
        assert why in refused.message


def test_more_partitions_than_a_status_holds_are_refused() -> None:
    many = {("orders", index): LogRange(0, 1) for index in range(PARTITIONS_MAX + 1)}
    refused = step(spec(), None, replace(group({}), ranges=many))
    assert refused is not None
    assert "name topics" in refused.message


def test_an_undo_goes_back_to_the_snapshot_and_forgets_what_was_not_there() -> None:
    snapshot = Snapshot("first", {A: 50, B: None})
    moving = step(spec(id="undo", to="Snapshot", value="first"), None, group({A: 10, B: 20}), snapshot)
    assert moving is not None
    assert moving.after == {A: 50, B: None}
    done = step(spec(id="undo", to="Snapshot", value="first"), moving, group({A: 50}), snapshot)
    assert done is not None
    assert done.phase is Phase.DONE


def test_an_undo_never_goes_before_what_retention_left() -> None:
    seen = replace(group({A: 90}), ranges={A: LogRange(70, 100)})
    moving = step(spec(id="undo", to="Snapshot", value="first"), None, seen, Snapshot("first", {A: 50}))
    assert moving is not None
    assert moving.after == {A: 70}


def test_share_groups_offsets_are_not_forgotten_one_by_one() -> None:
    snapshot = Snapshot("first", {A: 50, B: None})
    seen = group({A: 90, B: 2}, type="share")
    refused = step(spec(id="undo", to="Snapshot", value="first"), None, seen, snapshot)
    assert refused is not None
    assert refused.phase is Phase.REFUSED


offsets = st.dictionaries(
    st.tuples(st.sampled_from(["orders", "a.b_c-1"]), st.integers(0, 20)), st.none() | st.integers(0, 2**62)
)


@given(st.sampled_from(Phase), offsets, offsets, st.booleans())
def test_the_status_says_all_that_the_next_look_has_to_know(
    phase: Phase, before: Any, after: Any, drains: bool
) -> None:
    reset = Reset("first", phase, NOW_MS, "words", drains, {each: before.get(each) for each in after}, after)
    assert reset_of({"lastReset": reset_fields(reset)}) == reset
    assert snapshot_of({"snapshot": snapshot_fields(reset)}) == Snapshot("first", reset.before)
    assert reset_condition(reset).type == "OffsetsReset"


def test_nothing_is_read_from_a_status_that_says_nothing() -> None:
    assert reset_of({}) is None
    assert snapshot_of({}) is None


# ---- broken off anywhere ----


@dataclass
class Coordinator:
    """A group, its configs and the resource's status; members come back whenever they may."""

    committed: dict[tuple[str, int], int]
    members: int
    drains: bool = False
    status: dict[str, Any] = field(default_factory=dict)
    moves: int = 0

    def seen(self) -> GroupSeen:
        return group(dict(self.committed), members=self.members, drains=self.drains)

    def look(self, declared: dict[str, Any], stop_after: int) -> None:
        """As the operator does it, but for the process, which ends after so many writes."""
        for write in range(stop_after):
            last = reset_of(self.status)
            reset = next_reset(wanted_reset(declared, NOW_MS), last, self.seen(), snapshot_of(self.status), {}, NOW_MS)
            assert reset is not None
            if reset is not last:
                self.status["lastReset"] = reset_fields(reset)
                if reset.phase is Phase.MOVING:
                    self.status["snapshot"] = snapshot_fields(reset)
            elif self.drains != reset.withholds:
                self.drains = reset.withholds
            elif reset.phase is Phase.MOVING:
                assert self.members == 0
                self.committed = {each: offset for each, offset in reset.after.items() if offset is not None}
                self.moves += 1
            self.live(write)

    def live(self, tick: int) -> None:
        if self.drains:
            self.members = max(0, self.members - 1)
        elif self.members == 0 and tick % 3 == 0:
            self.members = 2


@given(st.lists(st.integers(1, 4), min_size=12, max_size=20), st.integers(0, 2))
def test_a_reset_broken_off_anywhere_is_done_once_and_lets_the_members_in_again(stops: list[int], members: int) -> None:
    coordinator = Coordinator({A: 50, B: 60}, members)
    for stop in stops:
        coordinator.look(spec(whenActive="Drain"), stop)
    last = reset_of(coordinator.status)
    assert last is not None
    assert last.phase is Phase.DONE
    assert coordinator.moves == 1
    assert not coordinator.drains
    assert snapshot_of(coordinator.status) == Snapshot("first", {A: 50, B: 60})


def test_a_move_that_was_broken_off_half_way_is_finished() -> None:
    """Some partitions are where it takes them; nobody else has committed those."""
    moving = Reset("first", Phase.MOVING, NOW_MS, before={A: 50, B: 60}, after={A: 0, B: 0})
    half = step(spec(id="first", to="Earliest"), moving, group({A: 0, B: 60}))
    assert (half.phase, half.after) == (Phase.MOVING, {A: 0, B: 0})
    whole = step(spec(id="first", to="Earliest"), moving, group({A: 0, B: 0}))
    assert whole.phase is Phase.DONE
    assert step(spec(id="first", to="Earliest"), moving, group({A: 0, B: 61})).phase is Phase.REFUSED


def test_an_id_has_one_turn_also_after_others_had_theirs() -> None:
    undo = Reset("undo", Phase.DONE, NOW_MS, before={}, after={})
    assert had_its_turn("first", undo, ["first", "undo"])
    assert not had_its_turn("undo", undo, ["first", "undo"])
    assert not had_its_turn("second", undo, ["first", "undo"])

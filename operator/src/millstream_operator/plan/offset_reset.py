"""A reset of a group's offsets, once per id: what the resource asks for and what is to be done next. Pure.

Each phase is in the status before anything is done in it, so a look that is broken off is taken up by the next one. Offsets are
set only where they still are what the plan says. A reset that is refused stays so: one that were done hours later, when the
group happens to be empty, would surprise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from millstream_cluster.offset_resets import (
    Move,
    NowhereToCountFrom,
    Partition,
    ShiftBy,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTime,
    duration_ms,
    gone_on,
    target_of,
)
from millstream_operator.plan.consumer_group import SHARE, GroupSeen
from millstream_operator.plan.group_configs import DRAIN

Offsets = Mapping[Partition, int | None]
"""None: nothing is committed there."""

PARTITIONS_MAX = 10_000
"""Of one reset: its plan and its snapshot are in the status."""
DRAIN_MS_MAX = 300_000


class Phase(Enum):
    PLANNED = "Planned"
    """A dry run."""
    DRAINING = "Draining"
    MOVING = "Moving"
    DONE = "Done"
    REFUSED = "Refused"

    @property
    def is_under_way(self) -> bool:
        return self in (Phase.DRAINING, Phase.MOVING)


class CannotReset(Exception): ...


@dataclass(frozen=True, slots=True)
class BackTo:
    """Where the group was before the reset of this id."""

    reset_id: str


@dataclass(frozen=True, slots=True)
class WantedReset:
    id: str
    to: Move | BackTo
    topics: frozenset[str]
    """Empty: all that the group has committed in or that are declared."""
    partitions: frozenset[int]
    """Empty: all of the topics."""
    dry_run: bool
    drains: bool


@dataclass(frozen=True, slots=True)
class Reset:
    id: str
    phase: Phase
    since_ms: int
    message: str = ""
    drains: bool = False
    before: Offsets = field(default_factory=dict)
    after: Offsets = field(default_factory=dict)

    @property
    def withholds(self) -> bool:
        """Nobody may be in the group."""
        return self.drains and self.phase.is_under_way


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a group was before its last reset."""

    reset_id: str
    offsets: Offsets


def wanted_reset(spec: Mapping[str, Any], now_ms: int) -> WantedReset | None:
    declared = (spec.get("offsets") or {}).get("reset")
    if declared is None:
        return None
    return WantedReset(
        id=declared["id"],
        to=_destination(declared["to"], declared.get("value", ""), now_ms),
        topics=frozenset(declared.get("topics") or ()),
        partitions=frozenset(declared.get("partitions") or ()),
        dry_run=bool(declared.get("dryRun")),
        drains=declared.get("whenActive") == "Drain",
    )


def _destination(to: str, value: str, now_ms: int) -> Move | BackTo:
    """The schema of the resource has checked the values."""
    match to:
        case "Earliest":
            return ToEarliest()
        case "Latest":
            return ToLatest()
        case "Timestamp":
            return ToTime(int(datetime.fromisoformat(value).timestamp() * 1000))
        case "Duration":
            return ToTime(now_ms - (duration_ms(value) or 0))
        case "Offset":
            return ToOffset(int(value))
        case "ShiftBy":
            return ShiftBy(int(value))
        case _:
            return BackTo(value)


def is_settled(wanted: WantedReset | None, last: Reset | None) -> bool:
    """Whether there is nothing to do, whatever the group is like."""
    if wanted is None:
        return last is None or not last.phase.is_under_way
    if last is None or last.id != wanted.id:
        return False
    return last.phase is Phase.DONE or (last.phase is Phase.REFUSED and not wanted.dry_run)


def had_its_turn(reset_id: str, last: Reset | None, used_ids: Sequence[str]) -> bool:
    """An id of an earlier reset comes back when a manifest does, as of an undo that is taken back: it is not done again."""
    return reset_id in used_ids and (last is None or last.id != reset_id)


def next_reset(
    wanted: WantedReset | None,
    last: Reset | None,
    seen: GroupSeen,
    snapshot: Snapshot | None,
    at_time: Mapping[Partition, int],
    now_ms: int,
) -> Reset | None:
    """What the status should say before anything more is done; `last` itself where that is nothing new.

    `at_time`: what the partitions held at the time that is asked for.
    """
    if is_settled(wanted, last):
        return last
    if wanted is None:
        assert last is not None
        return refused(last, "taken back while it was under way", now_ms)
    if last is not None and last.id == wanted.id and last.phase is Phase.MOVING:
        return _after_move(last, seen, now_ms)
    try:
        planned = _planned(wanted, seen, snapshot, at_time, now_ms)
    except (CannotReset, NowhereToCountFrom) as error:
        return refused(Reset(wanted.id, Phase.REFUSED, now_ms), str(error), now_ms)
    if wanted.dry_run:
        is_same = last is not None and (last.before, last.after) == (planned.before, planned.after)
        return last if last is not None and is_same and last.phase is Phase.PLANNED else planned
    if not wanted.drains:
        if seen.is_empty:
            return replace(planned, phase=Phase.MOVING)
        return refused(
            planned, f"the group is {seen.state} and has {seen.members} members: whenActive is Refuse", now_ms
        )
    if last is None or last.id != wanted.id or last.phase is not Phase.DRAINING:
        return Reset(wanted.id, Phase.DRAINING, now_ms, "members give up their partitions and leave", drains=True)
    if seen.is_empty and seen.configs.get(DRAIN) == "true":
        return replace(planned, phase=Phase.MOVING, drains=True)
    if now_ms - last.since_ms > DRAIN_MS_MAX:
        return refused(last, f"{seen.members} members have not left within {DRAIN_MS_MAX // 1000} seconds", now_ms)
    return last


def _planned(
    wanted: WantedReset, seen: GroupSeen, snapshot: Snapshot | None, at_time: Mapping[Partition, int], now_ms: int
) -> Reset:
    chosen = _chosen(wanted, seen)
    before = {each: seen.committed.get(each) for each in chosen}
    if isinstance(wanted.to, BackTo):
        after = _restored(wanted.to, snapshot, seen, before)
    else:
        after = dict(target_of(wanted.to, before, {each: seen.ranges[each] for each in chosen}, at_time))
    return Reset(wanted.id, Phase.PLANNED, now_ms, before={each: before[each] for each in after}, after=after)


def _chosen(wanted: WantedReset, seen: GroupSeen) -> list[Partition]:
    strange = wanted.topics - {topic for topic, _ in seen.ranges}
    if strange:
        raise CannotReset(
            f"the group has nothing in {', '.join(sorted(strange))}: a topic that it is to begin with belongs in spec.topics"
        )
    chosen = sorted(
        (topic, index)
        for topic, index in seen.ranges
        if (not wanted.topics or topic in wanted.topics) and (not wanted.partitions or index in wanted.partitions)
    )
    if not chosen:
        raise CannotReset("the group has committed nothing, and spec.topics names no topic that is there")
    if len(chosen) > PARTITIONS_MAX:
        raise CannotReset(f"{len(chosen)} partitions, more than the {PARTITIONS_MAX} of one reset: name topics")
    return chosen


def _restored(to: BackTo, snapshot: Snapshot | None, seen: GroupSeen, chosen: Offsets) -> dict[Partition, int | None]:
    """Into what the logs hold now: who begins before their start would begin where auto.offset.reset says."""
    if snapshot is None or snapshot.reset_id != to.reset_id:
        there = "there is none" if snapshot is None else f"the one that is there is of {snapshot.reset_id}"
        raise CannotReset(f"no snapshot of a reset {to.reset_id}: {there}")
    restored = {
        each: None if offset is None else seen.ranges[each].clamped(offset)
        for each, offset in snapshot.offsets.items()
        if each in chosen
    }
    if seen.type == SHARE and None in restored.values():
        raise CannotReset("a share group's offsets can be set, but not forgotten one by one")
    return restored


def _after_move(last: Reset, seen: GroupSeen, now_ms: int) -> Reset:
    left = gone_on(last.after, seen.committed)
    if not left:
        return replace(last, phase=Phase.DONE, since_ms=now_ms, message="")
    # What is where the plan takes it was moved by a look that was broken off.
    moved = [each for each in gone_on(last.before, seen.committed) if each in set(left)]
    if moved:
        names = ", ".join(f"{topic}-{index}" for topic, index in moved[:20])
        return refused(last, f"somebody has committed in {names} meanwhile", now_ms)
    return last


def refused(reset: Reset, message: str, now_ms: int) -> Reset:
    """The cluster would not have it."""
    return replace(reset, phase=Phase.REFUSED, since_ms=now_ms, message=f"{message}; another id tries again")

"""A group's offsets moved, and moved back: what the console's last reset of each group replaced is kept while it runs."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream_client import Cluster, InvalidData, TopicPartition
from millstream_client.groups import Group
from millstream_client.offsets import partitions_of
from millstream_client.resets import Offsets, committed_by, group_or_none, move_to, planned, refuse_members
from millstream_cluster.offset_resets import (
    Move,
    ShiftBy,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTime,
    distance,
    gone_on,
)

KEPT_MAX = 100
ROWS_MAX = 1_000
_NUMBER_MAX = 1 << 62


@dataclass(frozen=True, slots=True)
class _Done:
    before: dict[TopicPartition, int | None]
    after: dict[TopicPartition, int]


class Resets:
    """Of one access: whoever has logged in takes back what they did themselves."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._done: OrderedDict[str, _Done] = OrderedDict()

    async def reset(self, group_id: str, move: Move, topic: str | None, *, execute: bool) -> dict[str, Any]:
        """What would happen, or has happened. Of one topic, or of all partitions that the group has committed in."""
        group = await group_or_none(self._cluster, group_id)
        now = await committed_by(self._cluster, group)
        wanted = [each for each, committed in now.items() if committed is not None]
        if topic is not None:
            wanted = await partitions_of(self._cluster, [topic])
        if not wanted:
            raise InvalidData(f"group {group_id} has committed nothing: name a topic")
        after = await planned(self._cluster, move, wanted, now)
        before = {each: now.get(each) for each in after}
        if execute:
            refuse_members(group)
            await move_to(self._cluster, group, group_id, after)
            self._done[group_id] = _Done(before, after)
            self._done.move_to_end(group_id)
            while len(self._done) > KEPT_MAX:
                self._done.popitem(last=False)
        return _shown(group, before, after, executed=execute)

    async def undo(self, group_id: str, *, execute: bool) -> dict[str, Any]:
        done = self._done.get(group_id)
        if done is None:
            raise InvalidData(f"nothing is known here of a reset of group {group_id}")
        group = await group_or_none(self._cluster, group_id)
        now = await committed_by(self._cluster, group)
        if moved := gone_on(done.after, now):
            raise InvalidData(f"group {group_id} has gone on since in {', '.join(map(str, moved[:20]))}")
        if execute:
            refuse_members(group)
            await move_to(self._cluster, group, group_id, done.before)
            del self._done[group_id]
        return _shown(group, done.after, done.before, executed=execute)


def _shown(group: Group | None, before: Offsets, after: Offsets, *, executed: bool) -> dict[str, Any]:
    how_far = distance(before, after)
    changed = [each for each in sorted(after) if before.get(each) != after[each]]
    return {
        "executed": executed,
        "blocked_by": sorted({each.client_id for each in group.members}) if group is not None and not executed else [],
        "skipped": how_far.skipped,
        "repeated": how_far.repeated,
        "changed": len(changed),
        "rows": [
            {"topic": each.topic, "partition": each.partition, "from": before.get(each), "to": after[each]}
            for each in changed[:ROWS_MAX]
        ],
    }


def move_of(asked: Mapping[str, Any]) -> Move:
    """`to`: earliest, latest, time, offset or shift; `at`: the time in milliseconds, the offset, or how many records."""
    kind, at = asked.get("to"), asked.get("at")
    if kind == "earliest":
        return ToEarliest()
    if kind == "latest":
        return ToLatest()
    if isinstance(at, bool) or not isinstance(at, int) or abs(at) > _NUMBER_MAX or (at < 0 and kind != "shift"):
        raise InvalidData("at must be a number")
    match kind:
        case "time":
            return ToTime(at)
        case "offset":
            return ToOffset(at)
        case "shift":
            return ShiftBy(at)
    raise InvalidData(f"to must be earliest, latest, time, offset or shift, not {kind!r}")

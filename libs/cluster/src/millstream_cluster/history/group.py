"""Folds what `__consumer_offsets` keeps of one group into events: who came and went, which generation or epoch, who read what.

Of all three kinds of groups, and in Kafka's format, so that it tells of Kafka's groups as well. Why a member went is not in there: whoever
leaves and whoever falls silent are removed alike. Commits are not told, but for one that takes a group back.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from millstream_cluster.history.event import Event
from millstream_cluster.ids import uuid_text
from millstream_wire import stored as s
from millstream_wire.codec import decode_stored

GroupEntry: TypeAlias = tuple[int, bytes, bytes | None]
"""When a record of the coordinators' topic was written, its key and its value."""

_KEYS: Mapping[int, tuple[type[Any], type[Any]]] = {
    0: (s.OffsetCommitKey, s.OffsetCommitValue),
    1: (s.OffsetCommitKey, s.OffsetCommitValue),
    2: (s.GroupMetadataKey, s.GroupMetadataValue),
    3: (s.ConsumerGroupMetadataKey, s.ConsumerGroupMetadataValue),
    5: (s.ConsumerGroupMemberMetadataKey, s.ConsumerGroupMemberMetadataValue),
    8: (s.ConsumerGroupCurrentMemberAssignmentKey, s.ConsumerGroupCurrentMemberAssignmentValue),
    10: (s.ShareGroupMemberMetadataKey, s.ShareGroupMemberMetadataValue),
    11: (s.ShareGroupMetadataKey, s.ShareGroupMetadataValue),
    14: (s.ShareGroupCurrentMemberAssignmentKey, s.ShareGroupCurrentMemberAssignmentValue),
}
"""By the version that a key begins with; what else there is tells nothing that these do not."""


def group_events(entries: Sequence[GroupEntry], group_id: str, names: Mapping[UUID, str]) -> list[Event]:
    """In the log's order. Raises DecodeError."""
    course = _GroupCourse(group_id, names)
    return [event for entry in entries for event in course.next(*entry)]


class _GroupCourse:
    def __init__(self, group_id: str, names: Mapping[UUID, str]) -> None:
        self._group_id = group_id
        self._about = f"group {group_id}"
        self._names = names
        self._generation: s.GroupMetadataValue | None = None
        self._members: dict[str, Any] = {}
        self._reads: dict[str, str] = {}
        self._committed: dict[tuple[str, int], int] = {}

    def next(self, time_ms: int, key: bytes, value: bytes | None) -> Iterator[Event]:
        kinds = _KEYS.get(int.from_bytes(key[:2], "big", signed=True))
        if kinds is None:
            return
        whose = decode_stored(kinds[0], key)
        if (whose.group if hasattr(whose, "group") else whose.group_id) != self._group_id:
            return
        found = None if value is None else decode_stored(kinds[1], value)
        match whose:
            case s.OffsetCommitKey():
                told = self._commit(whose, found)
            case s.GroupMetadataKey():
                told = self._classic(found)
            case s.ConsumerGroupMetadataKey() | s.ShareGroupMetadataKey():
                told = ("forgotten", "") if found is None else (f"epoch {found.epoch}", "")
            case s.ConsumerGroupMemberMetadataKey() | s.ShareGroupMemberMetadataKey():
                told = self._member(whose.member_id, found)
            case _:
                told = self._assigned(whose.member_id, found)
        if told is not None:
            yield Event(time_ms, self._about, *told)

    def _commit(self, key: s.OffsetCommitKey, value: s.OffsetCommitValue | None) -> tuple[str, str] | None:
        place = (key.topic, key.partition)
        before = self._committed.pop(place, None)
        if value is None:
            return f"its offset of {key.topic}-{key.partition} was forgotten", ""
        self._committed[place] = value.offset
        if before is not None and value.offset < before:
            return (
                f"goes back in {key.topic}-{key.partition}, from {before} to {value.offset}",
                "somebody committed that",
            )
        return None

    def _classic(self, value: s.GroupMetadataValue | None) -> tuple[str, str] | None:
        before, self._generation = self._generation, value
        if value is None:
            return "forgotten", ""
        count = len(value.members)
        what = f"generation {value.generation}: {_members(count)}"
        now = {each.member_id: _name(each) for each in value.members}
        if before is None:
            return what, _listed("members: ", list(now.values()))
        was = {each.member_id: _name(each) for each in before.members}
        came = [name for member_id, name in now.items() if member_id not in was]
        went = [name for member_id, name in was.items() if member_id not in now]
        if not came and not went:
            same = value.generation == before.generation
            return None if same else (what, "the same members joined anew: one of them asked for it")
        return what, "; ".join(filter(None, [_listed("came: ", came), _listed("went: ", went)]))

    def _member(self, member_id: str, value: Any) -> tuple[str, str] | None:
        before = self._members.pop(member_id, None)
        if value is None:
            self._reads.pop(member_id, None)
            return (f"{_name(before)} went" if before is not None else f"member {member_id} went"), ""
        self._members[member_id] = value
        topics = ", ".join(value.subscribed_topic_names) or getattr(value, "subscribed_topic_regex", None) or "nothing"
        if before is None:
            return f"{_name(value)} came", f"it subscribes to {topics}"
        if before.subscribed_topic_names != value.subscribed_topic_names:
            return f"{_name(value)} subscribes to {topics}", ""
        return None

    def _assigned(self, member_id: str, value: Any) -> tuple[str, str] | None:
        if value is None:
            return None
        reads = "; ".join(
            f"{self._names.get(each.topic_id) or uuid_text(each.topic_id)}: {','.join(map(str, sorted(each.partitions)))}"
            for each in value.assigned_partitions
        )
        if self._reads.get(member_id, "") == reads:
            return None
        self._reads[member_id] = reads
        member = self._members.get(member_id)
        who = _name(member) if member is not None else f"member {member_id}"
        return f"{who} reads {reads or 'nothing'}", f"epoch {value.member_epoch}"


def _name(member: Any) -> str:
    """Who it is to people: its client id, and from where it came."""
    host = member.client_host.removeprefix("/")
    return f"{member.client_id or 'a member'} at {host}" if host else member.client_id or "a member"


def _members(count: int) -> str:
    return "no members" if count == 0 else f"{count} member{'s' if count > 1 else ''}"


def _listed(prefix: str, names: list[str]) -> str:
    return prefix + ", ".join(names) if names else ""

"""A consumer group as its log tells it: members, what each should have (target) and what each has (current).

`apply` is the only writer. What the numbers mean:

    group epoch       raised by every change that asks for a new assignment
    assignment epoch  the group epoch that the target was made for
    member epoch      the assignment epoch that the member has come to; it goes on only once it gave up what it must
"""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never

from millstream_coordinator.core.consumer.member import NOTHING, CurrentAssignment, MemberMetadata, MemberState
from millstream_coordinator.core.consumer.records import (
    ConsumerRecord,
    CurrentStored,
    GroupEpochStored,
    MemberStored,
    RegexStored,
    ResolvedRegex,
    TargetEpochStored,
    TargetStored,
)
from millstream_coordinator.core.group.epochs import GroupEpoch
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition


class ConsumerGroupState(StrEnum):
    """The values are what ListGroups and ConsumerGroupDescribe call them."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """Invariant (`check`): a partition has one owner; targets do not overlap; a member's epoch is never past the target's;
    static members are found by their instance id.
    """

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        """The group epoch. It only grows; it is raised by every change that asks for a new assignment."""
        self.metadata_hash = 0
        """Of the subscribed topics, as they were when the epoch was raised last (`group/subscriptions`)."""
        self.assignment_epoch = 0
        """The group epoch that `targets` were made for: never past `epoch`; below it, a new target is due."""
        self.assignment_timestamp_ms = 0
        """When they were made. The next target has to wait for the assignment interval from here."""
        self.members: dict[str, MemberMetadata] = {}
        """By member id, what each said of itself last."""
        self.static_members: dict[str, str] = {}
        """Member id by instance id: exactly those members that have one."""
        self.targets: dict[str, Partitions] = {}
        """By member id, what each should have in the end. Of members only, and no partition is in two."""
        self.currents: dict[str, CurrentAssignment] = {}
        """By member id, what each has now, and the epoch that it has come to. Of members only."""
        self.owners: dict[TopicIdPartition, str] = {}
        """Who has a partition, or did not give it up yet: `currents` the other way round."""
        self.regexes: dict[str, ResolvedRegex] = {}
        """By expression, the topics that it matched when it was resolved last."""

    # Looking

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(self.is_settled(member_id) for member_id in self.members):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def is_settled(self, member_id: str) -> bool:
        current = self.current(member_id)
        return current.state is MemberState.STABLE and current.epoch == self.assignment_epoch

    def current(self, member_id: str) -> CurrentAssignment:
        return self.currents.get(member_id, NOTHING)

    def target(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, frozenset())

    def topics_of(self, member: MemberMetadata) -> frozenset[str]:
        """The names that the member subscribes to, whether or not there are such topics."""
        resolved = self.regexes.get(member.regex) if member.regex is not None else None
        return frozenset(member.topics) | frozenset(resolved.topics if resolved is not None else ())

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset().union(*(self.topics_of(member) for member in self.members.values()))

    def assignor(self, default: str) -> str:
        """The one that most members ask for; the default if none does, and among equals the first by name."""
        votes = Counter(member.server_assignor for member in self.members.values() if member.server_assignor)
        return min(votes, key=lambda name: (-votes[name], name)) if votes else default

    def tombstones(self) -> Iterator[ConsumerRecord]:
        """What takes the group out of the log; the group itself goes last."""
        for member_id in self.members:
            yield from self.member_tombstones(member_id)
        for regex in self.regexes:
            yield RegexStored(self.group_id, regex, None)
        yield TargetEpochStored(self.group_id, None)
        yield GroupEpochStored(self.group_id, None)

    def member_tombstones(self, member_id: str) -> Iterator[ConsumerRecord]:
        if member_id in self.currents:
            yield CurrentStored(self.group_id, member_id, None)
        if member_id in self.targets:
            yield TargetStored(self.group_id, member_id, None)
        yield MemberStored(self.group_id, member_id, None)

    def epoch_record(self, epoch: GroupEpoch) -> GroupEpochStored:
        return GroupEpochStored(self.group_id, epoch)

    def copy(self) -> "ConsumerGroup":
        other = ConsumerGroup(self.group_id)
        other.epoch, other.metadata_hash = self.epoch, self.metadata_hash
        other.assignment_epoch = self.assignment_epoch
        other.assignment_timestamp_ms = self.assignment_timestamp_ms
        other.members, other.static_members = dict(self.members), dict(self.static_members)
        other.targets, other.currents = dict(self.targets), dict(self.currents)
        other.owners, other.regexes = dict(self.owners), dict(self.regexes)
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConsumerGroup) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    # Writing

    def apply(self, record: ConsumerRecord) -> None:
        match record:
            case GroupEpochStored():
                if record.value is not None:
                    self.epoch, self.metadata_hash = record.value.epoch, record.value.metadata_hash
            case TargetEpochStored():
                value = record.value
                self.assignment_epoch = value.epoch if value is not None else 0
                self.assignment_timestamp_ms = value.timestamp_ms if value is not None else 0
            case MemberStored():
                self._apply_member(record)
            case TargetStored():
                if record.value is None:
                    self.targets.pop(record.member_id, None)
                else:
                    self.targets[record.member_id] = record.value
            case CurrentStored():
                self._apply_current(record)
            case RegexStored():
                if record.value is None:
                    self.regexes.pop(record.regex, None)
                else:
                    self.regexes[record.regex] = record.value
            case _:
                assert_never(record)

    def _apply_member(self, record: MemberStored) -> None:
        before = self.members.pop(record.member_id, None)
        instance_id = before.instance_id if before is not None else None
        # The instance may be another member's by now.
        if instance_id is not None and self.static_members.get(instance_id) == record.member_id:
            del self.static_members[instance_id]
        if record.value is not None:
            self.members[record.member_id] = record.value
            if record.value.instance_id is not None:
                self.static_members[record.value.instance_id] = record.member_id

    def _apply_current(self, record: CurrentStored) -> None:
        member_id = record.member_id
        for partition in self.currents.pop(member_id, NOTHING).owned:
            if self.owners.get(partition) == member_id:
                del self.owners[partition]
        if record.value is not None:
            self.currents[member_id] = record.value
            for partition in record.value.owned:
                self.owners[partition] = member_id

    # Checking

    def check(self) -> None:
        assert self.assignment_epoch <= self.epoch
        assert self.currents.keys() <= self.members.keys()
        assert self.targets.keys() <= self.members.keys()
        assert self.static_members == {
            member.instance_id: member_id
            for member_id, member in self.members.items()
            if member.instance_id is not None
        }
        owned = [(partition, member_id) for member_id, has in self.currents.items() for partition in has.owned]
        assert len(owned) == len(dict(owned)), "a partition has two owners"
        assert self.owners == dict(owned)
        targets = [partition for target in self.targets.values() for partition in target]
        assert len(targets) == len(set(targets)), "a partition is meant for two members"
        for current in self.currents.values():
            assert current.epoch <= self.assignment_epoch
            assert not current.assigned.keys() & current.revoking.keys()
            assert bool(current.revoking) == (current.state is MemberState.UNREVOKED_PARTITIONS)

"""A share group as its log tells it: members, what each should read (target) and what each was told (current).

`apply` is the only writer. Epochs mean what they mean in a consumer group (`core/consumer/group`), but a member is at the
epoch of the target as soon as it is told of it.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never

from millstream_coordinator.core.group.epochs import GroupEpoch
from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions
from millstream_coordinator.core.share.kept import NOTHING_KEPT, Kept
from millstream_coordinator.core.share.member import NOTHING, ShareCurrent, ShareMember
from millstream_coordinator.core.share.records import (
    ShareCurrentStored,
    ShareEpochStored,
    ShareKeptStored,
    ShareMemberStored,
    ShareRecord,
    ShareTargetEpochStored,
    ShareTargetStored,
)


class ShareGroupState(StrEnum):
    """The values are what ListGroups and ShareGroupDescribe call them."""

    EMPTY = "Empty"
    STABLE = "Stable"


class ShareGroup:
    """Invariant (`check`): only members have targets and are told of them; nobody is past the target's epoch."""

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
        self.members: dict[str, ShareMember] = {}
        """By member id, what each said of itself last."""
        self.targets: dict[str, Partitions] = {}
        """By member id, what each should read. Of members only; several may read the same partition."""
        self.currents: dict[str, ShareCurrent] = {}
        """By member id, what each was told last, and at which epoch. Of members only."""
        self.kept: Kept = NOTHING_KEPT
        """Of which partitions the group has state, which is in another shard. Only those are ever in a target."""

    # Looking

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def current(self, member_id: str) -> ShareCurrent:
        return self.currents.get(member_id, NOTHING)

    def target(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, NO_PARTITIONS)

    def subscribed_topics(self) -> frozenset[str]:
        return frozenset(topic for member in self.members.values() for topic in member.topics)

    def tombstones(self) -> Iterator[ShareRecord]:
        """What takes the group out of the log; the group itself goes last."""
        for member_id in self.members:
            yield from self.member_tombstones(member_id)
        yield ShareTargetEpochStored(self.group_id, None)
        yield ShareKeptStored(self.group_id, None)
        yield ShareEpochStored(self.group_id, None)

    def member_tombstones(self, member_id: str) -> Iterator[ShareRecord]:
        if member_id in self.currents:
            yield ShareCurrentStored(self.group_id, member_id, None)
        if member_id in self.targets:
            yield ShareTargetStored(self.group_id, member_id, None)
        yield ShareMemberStored(self.group_id, member_id, None)

    def epoch_record(self, epoch: GroupEpoch) -> ShareEpochStored:
        return ShareEpochStored(self.group_id, epoch)

    def copy(self) -> "ShareGroup":
        other = ShareGroup(self.group_id)
        vars(other).update(vars(self))
        other.members, other.targets, other.currents = dict(self.members), dict(self.targets), dict(self.currents)
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShareGroup) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    # Writing

    def apply(self, record: ShareRecord) -> None:
        match record:
            case ShareEpochStored():
                if record.value is not None:
                    self.epoch, self.metadata_hash = record.value.epoch, record.value.metadata_hash
            case ShareTargetEpochStored():
                value = record.value
                self.assignment_epoch = value.epoch if value is not None else 0
                self.assignment_timestamp_ms = value.timestamp_ms if value is not None else 0
            case ShareMemberStored():
                if record.value is None:
                    self.members.pop(record.member_id, None)
                else:
                    self.members[record.member_id] = record.value
            case ShareTargetStored():
                if record.value is None:
                    self.targets.pop(record.member_id, None)
                else:
                    self.targets[record.member_id] = record.value
            case ShareCurrentStored():
                if record.value is None:
                    self.currents.pop(record.member_id, None)
                else:
                    self.currents[record.member_id] = record.value
            case ShareKeptStored():
                self.kept = record.value if record.value is not None else NOTHING_KEPT
            case _:
                assert_never(record)

    # Checking

    def check(self) -> None:
        assert self.assignment_epoch <= self.epoch
        assert self.currents.keys() <= self.members.keys()
        assert self.targets.keys() <= self.members.keys()
        assert all(current.epoch <= self.assignment_epoch for current in self.currents.values())
        self.kept.check()

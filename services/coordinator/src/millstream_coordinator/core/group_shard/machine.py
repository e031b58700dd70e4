"""A shard: the groups whose ids hash to one partition of `__consumer_offsets`, with their committed offsets.

What the log keeps (`offsets`, `stored`, `consumers`, `shares`, `pending`) is written by `apply` alone, so that replaying the log
gives the live state. The rest lives in memory only: classic groups, which begin from what is stored, and the `sessions` of the
members of consumer and share groups. Decisions change it by the values in `changes` and `group.sessions`; classic groups are step
machines and change themselves.

A classic group that nobody is in stays until the next sweep, as in Kafka, unless all that it ever had were ids that nobody came
back with.
"""

from collections.abc import Iterator
from enum import Enum

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.records import ConsumerRecord, GroupEpochStored
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.group.sessions import Sessions
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved, ShardRecord
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.records import ShareEpochStored, ShareRecord
from millstream_coordinator.core.transactions.pending import Pending
from millstream_coordinator.core.transactions.pending_records import OffsetPending, ProducerSeen
from millstream_wire.errors import ErrorCode


class GroupProtocol(Enum):
    """How the members of a group and its coordinator talk. The values are what ListGroups calls them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class GroupShard:
    """Invariant (`check`): no group keeps an empty table of offsets; a group speaks one protocol at a time."""

    def __init__(self, limits: GroupLimits) -> None:
        self.limits = limits
        self.offsets: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self.stored: dict[str, StoredGroup] = {}
        self.groups: dict[str, ClassicGroup] = {}
        self.consumers: dict[str, ConsumerGroup] = {}
        self.shares: dict[str, ShareGroup] = {}
        self.sessions = Sessions()
        self.pending = Pending()

    def apply(self, record: ShardRecord) -> None:
        match record:
            case OffsetCommitted():
                offsets = self.offsets.setdefault(record.group_id, {})
                offsets[record.topic, record.partition] = record.committed
            case OffsetRemoved():
                offsets = self.offsets.get(record.group_id, {})
                offsets.pop((record.topic, record.partition), None)
                if not offsets:
                    self.offsets.pop(record.group_id, None)
            case GroupStored():
                self.stored[record.group.group_id] = record.group
            case GroupRemoved():
                self.stored.pop(record.group_id, None)
            case ShardClaimed():
                pass
            case OffsetPending() | ProducerSeen():
                self.pending.apply(record)
            case _:
                if isinstance(record, ShareRecord):
                    self._apply_share(record)
                else:
                    self._apply_consumer(record)

    def _apply_consumer(self, record: ConsumerRecord) -> None:
        if isinstance(record, GroupEpochStored) and record.value is None:
            self.consumers.pop(record.group_id, None)
        elif record.value is not None or record.group_id in self.consumers:
            group = self.consumers.get(record.group_id)
            if group is None:
                group = self.consumers[record.group_id] = ConsumerGroup(record.group_id)
            group.apply(record)

    def _apply_share(self, record: ShareRecord) -> None:
        if isinstance(record, ShareEpochStored) and record.value is None:
            self.shares.pop(record.group_id, None)
        elif record.value is not None or record.group_id in self.shares:
            group = self.shares.get(record.group_id)
            if group is None:
                group = self.shares[record.group_id] = ShareGroup(record.group_id)
            group.apply(record)

    def begin(self, now_ms: int) -> None:
        """The log is read: bring the stored groups to life."""
        self.groups = {
            group_id: ClassicGroup.loaded(stored, self.limits, now_ms) for group_id, stored in self.stored.items()
        }
        for group_id, consumer in self.consumers.items():
            for member_id, member in consumer.members.items():
                key = (group_id, member_id)
                classic = member.classic
                session_ms = classic.session_timeout_ms if classic else self.limits.consumer.session_timeout_ms
                self.sessions.hear_from(key, now_ms + session_ms)
                if consumer.current(member_id).revoking:
                    self.sessions.await_revocation(key, now_ms + member.rebalance_timeout_ms)
        for group_id, share in self.shares.items():
            for member_id in share.members:
                self.sessions.hear_from((group_id, member_id), now_ms + self.limits.share.session_timeout_ms)

    def group_ids(self) -> Iterator[str]:
        yield from self.groups
        yield from self.consumers
        yield from self.shares
        yield from (
            group_id for group_id in self.offsets if group_id not in self.groups and group_id not in self.consumers
        )

    def speaks(self, group_id: str) -> GroupProtocol:
        """The protocol of the group's members: the classic one also where there is no such group yet."""
        if group_id in self.consumers:
            return GroupProtocol.CONSUMER
        return GroupProtocol.SHARE if group_id in self.shares else GroupProtocol.CLASSIC

    def knows(self, group_id: str) -> bool:
        is_group = group_id in self.groups or group_id in self.consumers or group_id in self.shares
        return is_group or group_id in self.offsets

    def state_of(self, group_id: str) -> GroupState:
        """Of a classic group: one that only has offsets is Empty; one that nobody ever heard of is Dead."""
        group = self.groups.get(group_id)
        if group is not None:
            return group.state
        if group_id in self.consumers or group_id in self.shares:
            return GroupState.DEAD
        return GroupState.EMPTY if group_id in self.offsets else GroupState.DEAD

    def state_name(self, group_id: str) -> str:
        """By the word that the group's own protocol has for it."""
        group = self.consumers.get(group_id) or self.shares.get(group_id)
        return (group.state if group is not None else self.state_of(group_id)).value

    def dismiss_classic(self, group_id: str) -> None:
        """End a classic group in memory, whoever still holds it; who waits in it has to ask again."""
        group = self.groups.pop(group_id, None)
        if group is not None:
            for member in group.members.values():
                group.dismiss(member, ErrorCode.REBALANCE_IN_PROGRESS)
            group.state = GroupState.DEAD

    def enter(self, group_id: str, now_ms: int) -> ClassicGroup:
        """The group, made if there is none."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, self.limits, now_ms)
        return group

    def forget_if_unborn(self, group: ClassicGroup) -> None:
        """Drop a group that nobody ever joined: thousands of ids that nobody came back with cannot wait for the sweep."""
        is_unborn = group.is_unused and group.protocol_type is None and group.group_id not in self.stored
        if is_unborn and self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]

    def check(self) -> None:
        assert all(self.offsets.values())
        self.pending.check()
        for group_id, group in self.groups.items():
            assert group.group_id == group_id
            group.check()
        for group_id, consumer in self.consumers.items():
            assert consumer.group_id == group_id
            assert group_id not in self.groups
            assert group_id not in self.stored
            consumer.check()
        for group_id, share in self.shares.items():
            assert share.group_id == group_id
            others = (self.groups, self.stored, self.consumers, self.offsets)
            assert not any(group_id in other for other in others)
            share.check()
        self.sessions.check()

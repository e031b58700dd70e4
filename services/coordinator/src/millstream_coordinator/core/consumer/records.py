"""The facts of which a consumer group is made, as Kafka has them; None in place of a value is a tombstone."""

from millstream_coordinator.core.consumer.member import CurrentAssignment, MemberMetadata
from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group.partitions import Partitions
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    topics: tuple[str, ...]
    metadata_offset: int
    """The metadata it was resolved with."""
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class GroupEpochStored:
    group_id: str
    value: GroupEpoch | None


@dataclass(frozen=True, slots=True)
class MemberStored:
    group_id: str
    member_id: str
    value: MemberMetadata | None


@dataclass(frozen=True, slots=True)
class TargetEpochStored:
    group_id: str
    value: TargetEpoch | None


@dataclass(frozen=True, slots=True)
class TargetStored:
    """What a member should have in the end."""

    group_id: str
    member_id: str
    value: Partitions | None


@dataclass(frozen=True, slots=True)
class CurrentStored:
    group_id: str
    member_id: str
    value: CurrentAssignment | None


@dataclass(frozen=True, slots=True)
class RegexStored:
    group_id: str
    regex: str
    value: ResolvedRegex | None


ConsumerRecord = GroupEpochStored | MemberStored | TargetEpochStored | TargetStored | CurrentStored | RegexStored

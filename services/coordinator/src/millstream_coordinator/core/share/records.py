"""The facts of which a share group is made, as Kafka has them; None in place of a value is a tombstone."""

from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group.partitions import Partitions
from millstream_coordinator.core.share.kept import Kept
from millstream_coordinator.core.share.member import ShareCurrent, ShareMember
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShareEpochStored:
    group_id: str
    value: GroupEpoch | None


@dataclass(frozen=True, slots=True)
class ShareMemberStored:
    group_id: str
    member_id: str
    value: ShareMember | None


@dataclass(frozen=True, slots=True)
class ShareTargetEpochStored:
    group_id: str
    value: TargetEpoch | None


@dataclass(frozen=True, slots=True)
class ShareTargetStored:
    """What a member should read."""

    group_id: str
    member_id: str
    value: Partitions | None


@dataclass(frozen=True, slots=True)
class ShareCurrentStored:
    group_id: str
    member_id: str
    value: ShareCurrent | None


@dataclass(frozen=True, slots=True)
class ShareKeptStored:
    group_id: str
    value: Kept | None


ShareRecord = (
    ShareEpochStored
    | ShareMemberStored
    | ShareTargetEpochStored
    | ShareTargetStored
    | ShareCurrentStored
    | ShareKeptStored
)

"""The epochs of a group whose coordinator assigns, and those by which a member says that it comes or goes."""

from millstream_wire.late_dataclass import dataclass

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2
"""A static member went away and will be back: its partitions wait for it as long as its session lasts."""


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """Raised whenever the members, their subscriptions or the topics they subscribe to change."""

    epoch: int
    metadata_hash: int = 0
    """Of the subscribed topics: which they are, and how many partitions they have."""


@dataclass(frozen=True, slots=True)
class TargetEpoch:
    """The group epoch that the target assignment was made for, and when."""

    epoch: int
    timestamp_ms: int = 0

"""What a member of a share group says, and what is done about it, free of wire versions."""

from millstream_coordinator.core.group.epochs import JOINING_EPOCH
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareHeartbeatRequest:
    """None: as it said before."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] | None = None

    @property
    def joins(self) -> bool:
        return self.member_epoch == JOINING_EPOCH

    @property
    def leaves(self) -> bool:
        return self.member_epoch < 0


@dataclass(frozen=True, slots=True)
class ShareHeartbeatAnswer:
    answer: HeartbeatAnswer
    initializing: Partitions = NO_PARTITIONS
    """The partitions whose state has to be begun before anybody is given them."""
    state_epoch: int = 0
    """Under which it is to be begun."""

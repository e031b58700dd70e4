"""What a consumer group is told and what it says, free of wire versions."""

from collections.abc import Callable
from dataclasses import field

from millstream_coordinator.core.consumer.member import ClassicMember
from millstream_coordinator.core.group.epochs import JOINING_EPOCH
from millstream_coordinator.core.group.partitions import Partitions
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """None: as it said before."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    server_assignor: str | None = None
    reported: Partitions | None = None
    """The partitions that the member still has."""
    classic: ClassicMember | None = None
    """What a member that speaks the classic protocol says; None from one that does not."""
    may_see: Callable[[str], bool] | None = field(default=None, compare=False)
    """Which topics its regular expression may match; None: all."""

    @property
    def joins(self) -> bool:
        return self.member_epoch == JOINING_EPOCH

    @property
    def leaves(self) -> bool:
        return self.member_epoch < 0

    @property
    def is_full(self) -> bool:
        """The member says everything, so it wants to be told everything."""
        has_subscription = self.topics is not None or self.regex is not None
        return self.joins or (self.rebalance_timeout_ms != -1 and has_subscription and self.reported is not None)

"""What a member of a consumer or share group is told in answer to its heartbeat."""

from millstream_coordinator.core.group.partitions import Partitions
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

SETTLING_INTERVAL_MS = 1_000
"""How soon a member is to ask again while it, or its group, does not have yet what it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None
    """None: as it was told before."""


class Refused(Exception):
    """The request cannot be served; carries what the member is told."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message

    @property
    def answer(self) -> HeartbeatAnswer:
        return HeartbeatAnswer(error=self.error, message=self.message)

"""The facts that the log of a share state shard is made of; their bytes are `record_format`'s affair."""

from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share_state.state import SharePartition, ShareState
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShareStateStored:
    key: SharePartition
    state: ShareState | None
    """None: nothing is kept of it any more."""


ShareStateRecord = ShareStateStored | ShardClaimed

"""A shard of share state: the share partitions whose keys hash to one partition of `__share_group_state`.

`apply` is the only writer; the decisions are in `commands`.
"""

from typing import assert_never

from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share_state.records import ShareStateRecord, ShareStateStored
from millstream_coordinator.core.share_state.state import SharePartition, ShareState


class ShareStateShard:
    """Invariant (`check`): every state is sound by itself."""

    def __init__(self) -> None:
        self.states: dict[SharePartition, ShareState] = {}

    def apply(self, record: ShareStateRecord) -> None:
        match record:
            case ShareStateStored():
                if record.state is None:
                    self.states.pop(record.key, None)
                else:
                    self.states[record.key] = record.state
            case ShardClaimed():
                pass
            case _:
                assert_never(record)

    def check(self) -> None:
        for state in self.states.values():
            state.check()

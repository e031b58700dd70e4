"""The share partitions' state of one shard in service: what is asked of it is decided and stored, nothing else happens."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from millstream_cluster.decision import Decision
from millstream_cluster.ids import SHARE_STATE_TOPIC
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share_state.machine import ShareStateShard
from millstream_coordinator.core.share_state.record_format import decode_share_state_record, encode_share_state_record
from millstream_coordinator.core.share_state.records import ShareStateRecord
from millstream_coordinator.shell.shards.journal import Codec
from millstream_coordinator.shell.shards.owned import ShardKind
from millstream_runtime.replicated import Replicated

T = TypeVar("T")


class ShareStates:
    def __init__(self, replicated: Replicated[ShareStateShard, ShareStateRecord]) -> None:
        self.shard = replicated.machine
        self._replicated = replicated

    async def execute(self, decide: Callable[[ShareStateShard, int], Decision[ShareStateRecord, T]]) -> T:
        """Decide, and return the reply once it is committed; NotCommitted if this shard is not ours any more."""
        return await self._replicated.execute(decide)

    def close(self, reason: str) -> None:
        """The shard is not ours any more: nobody waits here but for the log."""


def share_state_shards() -> ShardKind[ShareStateShard, ShareStates]:
    """The shards that the partitions of `__share_group_state` are."""

    def serve(
        replicated: Replicated[ShareStateShard, ShareStateRecord], tasks: asyncio.TaskGroup, barrier: ShardClaimed
    ) -> ShareStates:
        return ShareStates(replicated)

    return ShardKind(
        topic=SHARE_STATE_TOPIC,
        codec=Codec(encode_share_state_record, decode_share_state_record),
        new_machine=ShareStateShard,
        serve=serve,
    )

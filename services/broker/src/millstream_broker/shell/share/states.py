"""Reads and writes the stored state of share partitions: asks the coordinator that owns it, wherever that is by now.

What may pass is tried again for a while here: coordinators die and shards move. A write that is sent again with the same
content changes nothing if the first one had arrived.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

from millstream_broker.core.share.delivery_runs import DeliveryState
from millstream_broker.core.share.partition import StoredBatch, Write
from millstream_broker.shell.topic_creation import TopicCreation
from millstream_cluster.ids import SHARE_STATE_TOPIC, NodeId
from millstream_cluster.image import Image
from millstream_cluster.shard import share_key
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.owner import Owners
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    read_share_group_state,
    write_share_group_state,
)

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT_MS = 5_000
PATIENCE_MS = 15_000
"""Longer than a dead coordinator goes unnoticed, shorter than clients wait for an answer."""
_BACKOFF_MS = 50
_BACKOFF_MAX_MS = 1_000

_PASSING = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class ShareKey(NamedTuple):
    """One group's share of one partition."""

    group_id: str
    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class StoredState:
    state_epoch: int
    start_offset: int
    """-1: the group has none yet."""
    batches: tuple[StoredBatch, ...]


class ShareStates:
    def __init__(
        self,
        world: World,
        image: Callable[[], Image],
        topics: TopicCreation,
        interest: Interest,
        *,
        node_id: NodeId,
        credentials: Credentials = PLAIN,
    ) -> None:
        self._world = world
        self._image = image
        self._topics = topics
        self._nodes = Nodes(world, client_id=f"broker-{node_id}", node_id=node_id, credentials=credentials)
        self._owners = Owners(self._nodes, image, interest)

    async def read(self, key: ShareKey, leader_epoch: int) -> StoredState | ErrorCode:
        partition = read_share_group_state.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        topic = read_share_group_state.ReadStateData(topic_id=key.topic_id, partitions=[partition])
        request = ReadShareGroupStateRequest(group_id=key.group_id, topics=[topic])
        answer = await self._ask_until_definite(key, request)
        if isinstance(answer, ErrorCode):
            return answer
        batches = (
            StoredBatch(
                batch.first_offset, batch.last_offset + 1, _state_of(batch.delivery_state), batch.delivery_count
            )
            for batch in answer.state_batches
        )
        return StoredState(answer.state_epoch, answer.start_offset, tuple(batches))

    async def write(self, key: ShareKey, *, state_epoch: int, leader_epoch: int, write: Write) -> ErrorCode:
        partition = write_share_group_state.PartitionData(
            partition=key.partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.complete_count,
            state_batches=[
                write_share_group_state.StateBatch(
                    first_offset=batch.start,
                    last_offset=batch.end - 1,
                    delivery_state=batch.state,
                    delivery_count=batch.deliveries,
                )
                for batch in write.batches
            ],
        )
        topic = write_share_group_state.WriteStateData(topic_id=key.topic_id, partitions=[partition])
        answer = await self._ask_until_definite(key, WriteShareGroupStateRequest(group_id=key.group_id, topics=[topic]))
        return answer if isinstance(answer, ErrorCode) else ErrorCode.NONE

    async def close(self) -> None:
        await self._nodes.close()

    async def _ask_until_definite(self, key: ShareKey, request: Any) -> Any:
        """The partition's part of the answer, or its error; one that may pass only after trying for a while."""
        deadline_ms = self._world.monotonic_ms() + PATIENCE_MS
        backoff_ms = _BACKOFF_MS
        while True:
            answer = await self._ask(key, request)
            if not (isinstance(answer, ErrorCode) and answer in _PASSING):
                return answer
            if self._world.monotonic_ms() + backoff_ms >= deadline_ms:
                logger.warning("share state not reached group=%s error=%s", key.group_id, answer.name)
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            await asyncio.sleep(backoff_ms / 1000)
            backoff_ms = min(2 * backoff_ms, _BACKOFF_MAX_MS)

    async def _ask(self, key: ShareKey, request: Any) -> Any:
        if self._image().topic(SHARE_STATE_TOPIC) is None:
            self._topics.want(SHARE_STATE_TOPIC)
        owner = self._owners.of_key(SHARE_STATE_TOPIC, share_key(*key))
        answer = await self._owners.ask(owner, request, timeout_ms=REQUEST_TIMEOUT_MS)
        if isinstance(answer, ErrorCode):
            return answer
        assert isinstance(answer, ReadShareGroupStateResponse | WriteShareGroupStateResponse)
        for topic in answer.results:
            for partition in topic.partitions:
                return ErrorCode(partition.error_code) if partition.error_code else partition
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _state_of(number: int) -> DeliveryState:
    """What nobody has any more is available: a state that is not stored on purpose, too."""
    state = DeliveryState(number)
    return DeliveryState.AVAILABLE if state is DeliveryState.ACQUIRED else state

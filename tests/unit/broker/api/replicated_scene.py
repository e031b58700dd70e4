"""Topic "t" with two replicas, led by a broker without its network; the follower is its fetches."""

import asyncio
from typing import Any

from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch, Role
from millstream_runtime.serving.peer import ANONYMOUS_CLIENT, NodePeer, Peer
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, ProduceRequest, WriteTxnMarkersRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ReplicaState
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic

US, FOLLOWER = NodeId(1), NodeId(2)
BOTH = (US, FOLLOWER)
LONG_MS = 60_000


class Replicated:
    """Topic "t" on a broker that needs no coordinator for transactions."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.topic_id = node.create_topic("t")
        self._partition_epoch = 0
        self._leader_epoch = 3
        self.assign()

    def assign(self, *, isr: tuple[NodeId, ...] = BOTH, leader: int = US, leader_epoch: int = 3) -> None:
        self._partition_epoch += 1
        self._leader_epoch = leader_epoch
        epochs = LeaderEpoch(leader_epoch), PartitionEpoch(self._partition_epoch)
        self.node.learn(r.PartitionChanged(self.topic_id, 0, BOTH, isr, NodeId(leader), *epochs))

    async def ask(self, request: Any, version: int, peer: Peer = ANONYMOUS_CLIENT) -> "asyncio.Task[Any]":
        """The answer to come, after everything that happens at once has happened."""
        answer = asyncio.ensure_future(self._ask(request, version, peer))
        await settled()
        return answer

    async def _ask(self, request: Any, version: int, peer: Peer) -> Any:
        reply = self.node._handle(request, version, "client", peer)
        if asyncio.isfuture(reply) or asyncio.iscoroutine(reply):
            reply = await reply
        return self.node.as_read(request.api_key, reply, version)

    async def produce(self, *batches: bytes, acks: int = -1, timeout_ms: int = LONG_MS, **fields: Any) -> Any:
        partitions = [PartitionProduceData(index=0, records=batch) for batch in batches]
        data = [TopicProduceData(name="t", partition_data=partitions)]
        return await self.ask(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data, **fields), 11)

    async def fetch(
        self,
        offset: int,
        *,
        replica: int = -1,
        epoch: int = -1,
        leader: int = -1,
        is_itself: bool = True,
        log_start: int = 0,
        **fields: Any,
    ) -> Any:
        wanted = FetchPartition(
            partition=0,
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
            current_leader_epoch=leader,
            log_start_offset=log_start,
        )
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=replica, replica_epoch=epoch),
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=[wanted])],
            **fields,
        )
        is_node = replica >= 0 and is_itself
        return await self.ask(request, 16, NodePeer(Role.BROKER, NodeId(replica)) if is_node else ANONYMOUS_CLIENT)

    async def follow(self, offset: int, **fields: Any) -> Any:
        """The follower has everything before `offset`."""
        data = fetched(await self.fetch(offset, replica=FOLLOWER, epoch=2, leader=self._leader_epoch, **fields))
        assert data.error_code == ErrorCode.NONE
        return data

    async def end(self, producer_id: int, *, epoch: int = 0, version: int = 0) -> Any:
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=True,
            topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
            transaction_version=version,
        )
        return await self.ask(WriteTxnMarkersRequest(markers=[marker]), 2)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def produced(answer: "asyncio.Task[Any]") -> tuple[ErrorCode, int]:
    data = answer.result().responses[0].partition_responses[0]
    return ErrorCode(data.error_code), data.base_offset


def fetched(answer: "asyncio.Task[Any]") -> Any:
    return answer.result().responses[0].partitions[0]


def ended(answer: "asyncio.Task[Any]") -> ErrorCode:
    return ErrorCode(answer.result().markers[0].topics[0].partitions[0].error_code)

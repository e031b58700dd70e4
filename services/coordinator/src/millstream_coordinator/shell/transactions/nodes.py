"""The other nodes as transactions need them: who coordinates a transactional id, who takes a partition's end marker."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream_cluster.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, NodeId
from millstream_cluster.image import Image
from millstream_cluster.shard import shard_of
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.owner import Owners
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from millstream_wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic
from millstream_wire.schema import Request

REQUEST_TIMEOUT_MS = 10_000


class TransactionNodes:
    def __init__(self, nodes: Nodes, image: Callable[[], Image], interest: Interest) -> None:
        self._owners = Owners(nodes, image, interest)
        self._image = image

    def offsets_partition(self, group_id: str) -> TopicPartition | None:
        """The partition that keeps the group's offsets, as a part of transactions."""
        topic = self._image().topic(OFFSETS_TOPIC)
        if topic is None or not topic.partitions:
            return None
        return OFFSETS_TOPIC, shard_of(group_id, len(topic.partitions))

    def exists(self, partition: TopicPartition) -> bool:
        return self._image().partition(*partition) is not None

    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partition: TopicPartition,
        *,
        verify_only: bool,
    ) -> ErrorCode:
        """Whether the partition is part of the producer's transaction, as its coordinator says, or makes it."""
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=partition[0], partitions=[partition[1]])],
        )
        owner = self._owners.of_key(TRANSACTIONS_TOPIC, transactional_id)
        answer = await self._ask(owner, AddPartitionsToTxnRequest(transactions=[transaction]))
        if not isinstance(answer, AddPartitionsToTxnResponse):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if answer.error_code:
            return ErrorCode(answer.error_code)
        return ErrorCode(answer.results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code)

    async def unused_producer_id(self) -> int | None:
        """One that nobody has, from any live broker; None if none answers."""
        image = self._image()
        for node_id, broker in image.brokers.items():
            if broker.fenced:
                continue
            answer = await self._ask(NodeId(node_id), InitProducerIdRequest(transactional_id=None))
            if isinstance(answer, InitProducerIdResponse) and answer.error_code == ErrorCode.NONE:
                return answer.producer_id
        return None

    async def write_marker(
        self, marker: WritableTxnMarker, node_id: NodeId, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """What the node says of each partition; nothing if it does not answer."""
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        marker.topics = [WritableTxnMarkerTopic(name=name, partition_indexes=each) for name, each in topics.items()]
        answer = await self._ask(node_id, WriteTxnMarkersRequest(markers=[marker]))
        if not isinstance(answer, WriteTxnMarkersResponse):
            return {}
        return {
            (topic.name, partition.partition_index): ErrorCode(partition.error_code)
            for result in answer.markers
            for topic in result.topics
            for partition in topic.partitions
        }

    def taker(self, partition: TopicPartition) -> NodeId | None:
        """Who takes the partition's end markers: its leader, or of a shard of groups its owner."""
        if partition[0] == OFFSETS_TOPIC:
            owner = self._owners.of_partition(*partition)
            return NodeId(owner) if owner is not None else None
        found = self._image().partition(*partition)
        return found.leader if found is not None and found.online else None

    async def _ask(self, node_id: int | None, request: Request[Any]) -> object:
        return await self._owners.ask(node_id, request, timeout_ms=REQUEST_TIMEOUT_MS)

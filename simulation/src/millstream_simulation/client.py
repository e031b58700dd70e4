"""What the simulation's clients know of Kafka: metadata, leaders, coordinators. A client like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_runtime.world import World
from millstream_simulation.fetched import Fetched, fetched_from
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
)
from millstream_wire.messages.create_partitions import CreatePartitionsTopic
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from millstream_wire.messages.delete_topics import DeleteTopicState
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.schema import ZERO_UUID

TIMEOUT_MS = 5_000
FETCH_MAX_BYTES = 4 << 10
"""Little: what is read again and again after trouble has to be decoded again and again."""
LATEST = -1
EARLIEST = -2
CONSUMER = -1
NO_EPOCH = -1
AS_CONFIGURED = -1
"""A topic's replication factor: the cluster's default."""
GROUP_KEY = 0
TRANSACTION_KEY = 1


class NotNow(Exception):
    """Try again: no leader, no coordinator, no answer, or an error that says so."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Of a partition, as the metadata of this leader epoch says."""

    leader_epoch: int
    leader: tuple[str, int] | None
    copies: list[tuple[str, int]]
    """Where its followers in sync are, in the order in which they are asked."""


class KafkaClient:
    """Of one topic; what it knows of a partition never goes back to an earlier leader epoch (KIP-320)."""

    def __init__(
        self,
        world: World,
        bootstrap: Sequence[tuple[str, int]],
        client_id: str,
        topic: str,
        topic_configs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`topic_configs`: what its topic is made with."""
        self.world = world
        self.topic = topic
        self._topic_configs = topic_configs
        self._bootstrap = tuple(bootstrap)
        self._nodes = Nodes(world, client_id=client_id)
        self._topic_id = ZERO_UUID
        self._places: dict[int, _Place] = {}
        self._doubted: set[int] = set()
        """Partitions whose leader did not serve: metadata is asked for before they are asked again."""
        self._coordinators: dict[tuple[int, str], tuple[str, int]] = {}

    async def close(self) -> None:
        await self._nodes.close()

    # The cluster and the topic

    async def expect_nodes(self, count: int) -> None:
        """Raise NotNow unless this many brokers and coordinators are there."""
        answer = await self._anybody(MetadataRequest(topics=[]))
        if len(answer.brokers) < count:
            raise NotNow(f"{len(answer.brokers)} nodes of {count}")

    async def create_topic(self, partitions: int, configs: Mapping[str, str] | None = None) -> UUID | None:
        """The new topic's id; None if it was there, perhaps since an attempt whose answer got lost."""
        wanted = {**self._topic_configs, **(configs or {})}
        settings = [CreatableTopicConfig(name=name, value=value) for name, value in wanted.items()]
        topic = CreatableTopic(
            name=self.topic, num_partitions=partitions, replication_factor=AS_CONFIGURED, configs=settings
        )
        answer = await self._anybody(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        _expect(answer.topics[0].error_code, ErrorCode.TOPIC_ALREADY_EXISTS)
        created: UUID = answer.topics[0].topic_id
        return created if answer.topics[0].error_code == ErrorCode.NONE else None

    async def delete_topic(self) -> None:
        topic = DeleteTopicState(name=self.topic)
        answer = await self._anybody(DeleteTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        _expect(answer.responses[0].error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    async def grow_topic(self, partitions: int) -> None:
        """Have at least this many partitions; there may be that many since an attempt whose answer got lost."""
        topic = CreatePartitionsTopic(name=self.topic, count=partitions, assignments=None)
        answer = await self._anybody(CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        _expect(answer.results[0].error_code, ErrorCode.INVALID_PARTITIONS)

    async def refresh(self) -> None:
        wanted = MetadataRequestTopic(name=self.topic)
        answer = await self._anybody(MetadataRequest(topics=[wanted], allow_auto_topic_creation=False))
        topic = answer.topics[0]
        _expect(topic.error_code)
        if topic.topic_id != self._topic_id:
            self._places.clear()
        self._topic_id = topic.topic_id
        self._doubted.clear()
        nodes = {node.node_id: (node.host, node.port) for node in answer.brokers}
        for each in topic.partitions:
            # A broker that is cut off tells of a leader that was followed by another: as real clients do, we know better.
            if each.leader_epoch >= self.leader_epoch(each.partition_index):
                copies = [nodes[node] for node in each.isr_nodes if node in nodes and node != each.leader_id]
                self._places[each.partition_index] = _Place(each.leader_epoch, nodes.get(each.leader_id), copies)

    def has_copies(self, partition: int) -> bool:
        """Whether there are followers to read from, as far as is known."""
        return partition in self._places and bool(self._places[partition].copies)

    def leader_epoch(self, partition: int) -> int:
        """Of the leader that requests go to; of whoever leads next too, until that is known."""
        return self._places[partition].leader_epoch if partition in self._places else NO_EPOCH

    def named_topic(self) -> tuple[str, Any]:
        """Name and id: requests carry one or the other, by version."""
        return self.topic, self._topic_id

    # Records

    async def producer_id(self) -> tuple[int, int]:
        answer = await self._anybody(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
        _expect(answer.error_code)
        return answer.producer_id, answer.producer_epoch

    async def expect_leader(self, partition: int) -> None:
        """Raise NotNow unless it is known where the partition's leader is: what is produced then goes out in order."""
        if self._leader(partition) is None:
            await self.refresh()
        if self._leader(partition) is None:
            raise NotNow(f"partition {partition} has no leader")

    def _leader(self, partition: int) -> tuple[str, int] | None:
        place = self._places.get(partition)
        return place.leader if place is not None and partition not in self._doubted else None

    async def produce(
        self, partition: int, batch: bytes, *, transactional_id: str | None = None, version: int | None = None
    ) -> tuple[ErrorCode, int]:
        """The error and the base offset."""
        data = TopicProduceData(
            name=self.topic,
            topic_id=self._topic_id,
            partition_data=[PartitionProduceData(index=partition, records=batch)],
        )
        request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])
        answer = await self.ask_leader(partition, request, version)
        result = answer.responses[0].partition_responses[0]
        return self.judged(partition, ErrorCode(result.error_code)), result.base_offset

    async def fetch(
        self,
        partition: int,
        offset: int,
        *,
        max_wait_ms: int = 500,
        committed: bool = False,
        from_copy: bool = False,
    ) -> Fetched:
        """`committed`: read_committed, what was aborted left out as clients do; `from_copy`: from a follower."""
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_MAX_BYTES)
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=FETCH_MAX_BYTES,
            isolation_level=int(committed),
            topics=[FetchTopic(topic=self.topic, topic_id=self._topic_id, partitions=[wanted])],
        )
        answer = await self.ask_leader(partition, request, from_copy=from_copy)
        _expect(answer.error_code)
        if not answer.responses:
            raise NotNow("nothing about the partition")
        result = answer.responses[0].partitions[0]
        _expect(self.judged(partition, ErrorCode(result.error_code)))
        return fetched_from(result, offset, committed=committed)

    async def start_offset(self, partition: int) -> int:
        return await self._offset(partition, EARLIEST, committed=False)

    async def end_offset(self, partition: int, *, committed: bool = False) -> int:
        return await self._offset(partition, LATEST, committed=committed)

    async def _offset(self, partition: int, timestamp: int, *, committed: bool) -> int:
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        topics = [ListOffsetsTopic(name=self.topic, partitions=[wanted])]
        answer = await self.ask_leader(
            partition, ListOffsetsRequest(replica_id=CONSUMER, isolation_level=int(committed), topics=topics)
        )
        result = answer.topics[0].partitions[0]
        _expect(self.judged(partition, ErrorCode(result.error_code)))
        return int(result.offset)

    # Coordinators

    async def ask_coordinator(
        self,
        key: str,
        request: Any,
        *,
        key_type: int = GROUP_KEY,
        timeout_ms: int = TIMEOUT_MS,
        version: int | None = None,
    ) -> Any:
        if (key_type, key) not in self._coordinators:
            await self._find_coordinator(key_type, key)
        address = self._coordinators[key_type, key]
        try:
            return await self._nodes.request(*address, request, timeout_ms=timeout_ms, version=version)
        except ClientError as error:
            self._coordinators.pop((key_type, key), None)
            raise NotNow(str(error)) from error

    def forget_coordinator(self, key_type: int = GROUP_KEY) -> None:
        self._coordinators = {known: where for known, where in self._coordinators.items() if known[0] != key_type}

    async def _find_coordinator(self, key_type: int, key: str) -> None:
        answer = await self._anybody(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]))
        found = answer.coordinators[0]
        _expect(found.error_code)
        self._coordinators[key_type, key] = (found.host, found.port)

    async def ask_leader(
        self, partition: int, request: Any, version: int | None = None, *, from_copy: bool = False
    ) -> Any:
        """`from_copy`: ask one of its followers instead, each in its turn."""
        await self.expect_leader(partition)
        address = self._leader(partition)
        assert address is not None, "expected"
        if from_copy and self.has_copies(partition):
            copies = self._places[partition].copies
            address = copies.pop(0)
            copies.append(address)
        if isinstance(request, (ProduceRequest, FetchRequest)):
            self._stamp(request)
        try:
            return await self._nodes.request(*address, request, timeout_ms=TIMEOUT_MS, version=version)
        except ClientError as error:
            self._doubted.add(partition)
            raise NotNow(str(error)) from error

    def _stamp(self, request: ProduceRequest | FetchRequest) -> None:
        topics = request.topic_data if isinstance(request, ProduceRequest) else request.topics
        for topic in topics:
            topic.topic_id = self._topic_id  # known only since the refresh

    async def _anybody(self, request: Any) -> Any:
        address = self.world.random.choice(self._bootstrap)
        try:
            return await self._nodes.request(*address, request, timeout_ms=TIMEOUT_MS)
        except ClientError as error:
            raise NotNow(str(error)) from error

    def judged(self, partition: int, error: ErrorCode) -> ErrorCode:
        if error is not ErrorCode.NONE:
            self._doubted.add(partition)
        return error


def _expect(error_code: int, *harmless: ErrorCode) -> None:
    error = ErrorCode(error_code)
    if error is not ErrorCode.NONE and error not in harmless:
        raise NotNow(error.name)

"""The cluster as the metadata log tells it: the fold of its records, with the lookups that every service needs.

`apply` is the only writer. Nothing here decides anything or knows about time.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, assert_never
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.errors import ImageError
from millstream_cluster.ids import NO_NODE, Offset, ProducerId, Role, role_of
from millstream_cluster.members import Node, Partition, Shard, Topic

K = TypeVar("K")
V = TypeVar("V")


class Image:
    """What is true after the record at `offset`.

    Invariant (`check`): a leader is an unfenced broker of the partition's ISR, the ISR is part of the replicas, a topic's
    partitions are numbered without gaps, topics are the same by name and by id, shards belong to existing partitions.
    """

    def __init__(self) -> None:
        self.offset = Offset(-1)
        self.cluster_id: str | None = None
        self.controller: r.ControllerElected | None = None
        self.controller_resigned = False
        """Whether the controller has said that it stops; the next one's election takes it back."""
        self.next_producer_id = ProducerId(0)
        self._nodes: dict[int, Node] = {}
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._partitions: dict[UUID, list[Partition]] = {}
        self._configs: dict[tuple[r.ResourceType, str], dict[str, str]] = {}
        self._quotas: dict[tuple[r.QuotaEntity, ...], dict[str, float]] = {}
        self._features: dict[str, int] = {}
        self._shards: dict[tuple[UUID, int], Shard] = {}

    @staticmethod
    def of(records: Iterable[r.MetadataRecord], offset: int) -> "Image":
        """Fold a snapshot's records into the Image that reflects everything up to `offset`."""
        image = Image()
        for record in records:
            image.apply(record, offset)
        return image

    # Reading

    @property
    def nodes(self) -> Mapping[int, Node]:
        """Brokers and coordinators by node id, fenced ones too."""
        return MappingProxyType(self._nodes)

    @property
    def brokers(self) -> dict[int, Node]:
        return {node_id: node for node_id, node in self._nodes.items() if node.role is Role.BROKER}

    @property
    def coordinators(self) -> dict[int, Node]:
        return {node_id: node for node_id, node in self._nodes.items() if node.role is Role.COORDINATOR}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Topics by name."""
        return MappingProxyType(self._by_name)

    @property
    def topics_by_id(self) -> Mapping[UUID, Topic]:
        return MappingProxyType(self._by_id)

    @property
    def shards(self) -> Mapping[tuple[UUID, int], Shard]:
        """Owners of coordinator topics' partitions, by topic id and partition."""
        return MappingProxyType(self._shards)

    def node(self, node_id: int) -> Node | None:
        return self._nodes.get(node_id)

    def topic(self, key: str | UUID) -> Topic | None:
        return self._by_name.get(key) if isinstance(key, str) else self._by_id.get(key)

    def partition(self, topic: str | UUID, partition: int) -> Partition | None:
        found = self.topic(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def partitions(self) -> Iterator[Partition]:
        for topic in self._by_name.values():
            yield from topic.partitions

    def shard(self, topic: str | UUID, partition: int) -> Shard | None:
        found = self.topic(topic)
        return None if found is None else self._shards.get((found.topic_id, partition))

    def config(self, resource_type: r.ResourceType, name: str) -> Mapping[str, str]:
        """The dynamic configs set for this resource, nothing inherited."""
        return MappingProxyType(self._configs.get((resource_type, name), {}))

    def config_names(self, resource_type: r.ResourceType) -> list[str]:
        """Names of this type's resources that have dynamic configs."""
        return [name for kind, name in self._configs if kind is resource_type]

    @property
    def client_quotas(self) -> Mapping[tuple[r.QuotaEntity, ...], Mapping[str, float]]:
        """Quotas by whom they are for, then by their keys."""
        return MappingProxyType(self._quotas)

    @property
    def feature_levels(self) -> Mapping[str, int]:
        """Levels by feature, of those that somebody has set."""
        return MappingProxyType(self._features)

    def records(self) -> Iterator[r.MetadataRecord]:
        """The shortest list of records that folds into this Image: a snapshot."""
        if self.cluster_id is not None:
            yield r.ClusterCreated(self.cluster_id)
        if self.controller is not None:
            yield self.controller
            if self.controller_resigned:
                yield r.ControllerResigned(self.controller.controller_id, self.controller.epoch)
        if self.next_producer_id:
            yield r.ProducerIdsAllocated(self.next_producer_id)
        for node in self._nodes.values():
            yield r.NodeRegistered(node.node_id, node.epoch, node.incarnation_id, node.listeners, node.rack)
            if not node.fenced:
                yield r.NodeUnfenced(node.node_id, node.epoch)
        for topic in self._by_name.values():
            yield r.TopicCreated(topic.name, topic.topic_id, topic.internal)
            yield from (partition.created() for partition in topic.partitions)
        for (kind, name), values in self._configs.items():
            yield from (r.ConfigChanged(kind, name, key, value) for key, value in values.items())
        for entity, quotas in self._quotas.items():
            yield from (r.ClientQuotaChanged(entity, key, value) for key, value in quotas.items())
        yield from (r.FeatureLevelSet(name, level) for name, level in self._features.items())
        for shard in self._shards.values():
            yield shard.assigned()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return NotImplemented
        return self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]

    def _state(self) -> tuple[object, ...]:
        return (
            self.offset,
            self.cluster_id,
            self.controller,
            self.controller_resigned,
            self.next_producer_id,
            self._nodes,
            self._by_name,
            self._configs,
            self._quotas,
            self._features,
            self._shards,
        )

    # Writing

    def apply(self, record: r.MetadataRecord, offset: int) -> None:
        """Make one more record true; one that does not fit is an ImageError and the log must not be followed further."""
        match record:
            case r.ClusterCreated():
                self._expect(self.cluster_id in (None, record.cluster_id), record, "the cluster has another id")
                self.cluster_id = record.cluster_id
            case r.ControllerElected():
                current = self.controller
                self._expect(current is None or record.epoch > current.epoch, record, f"the controller is {current}")
                self.controller, self.controller_resigned = record, False
            case r.ControllerResigned():
                current = self.controller
                self._expect(current is not None and record.epoch == current.epoch, record, f"it is {current}")
                self.controller_resigned = True
            case r.NodeRegistered():
                self._nodes[record.node_id] = Node.registered(record)
            case r.NodeFenced() | r.NodeUnfenced():
                node = self._known_node(record)
                self._nodes[record.node_id] = node.with_fenced(isinstance(record, r.NodeFenced))
            case r.NodeUnregistered():
                del self._nodes[self._known_node(record).node_id]
            case r.ProducerIdsAllocated():
                self._expect(record.next_producer_id > self.next_producer_id, record, "producer ids only grow")
                self.next_producer_id = record.next_producer_id
            case r.ConfigChanged():
                _set(self._configs, (record.resource_type, record.resource_name), record.key, record.value)
            case r.ClientQuotaChanged():
                _set(self._quotas, record.entity, record.key, record.value)
            case r.FeatureLevelSet():
                self._features[record.name] = record.level
            case r.TopicCreated() | r.TopicDeleted() | r.PartitionCreated() | r.PartitionChanged() | r.ShardAssigned():
                self._apply_topic(record)
            case _:
                assert_never(record)
        self.offset = Offset(offset)

    def _apply_topic(
        self, record: r.TopicCreated | r.TopicDeleted | r.PartitionCreated | r.PartitionChanged | r.ShardAssigned
    ) -> None:
        if isinstance(record, r.TopicCreated):
            self._expect(record.name not in self._by_name, record, "the name is taken")
            self._expect(record.topic_id not in self._by_id, record, "the id is taken")
            partitions = self._partitions[record.topic_id] = []
            topic = Topic(record.name, record.topic_id, record.internal, partitions)
            self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
            return
        found = self._by_id.get(record.topic_id)
        if found is None:
            raise ImageError(f"{record}: no such topic")
        partitions = self._partitions[record.topic_id]
        match record:
            case r.TopicDeleted():
                self._delete_topic(found)
            case r.PartitionCreated():
                self._expect(record.partition == len(partitions), record, "not the topic's next partition")
                partitions.append(Partition.of(record, found.name))
            case r.PartitionChanged():
                self._expect(0 <= record.partition < len(partitions), record, "no such partition")
                before = partitions[record.partition]
                self._expect(record.partition_epoch == before.partition_epoch + 1, record, f"before it: {before}")
                self._expect(record.leader_epoch >= before.leader_epoch, record, f"before it: {before}")
                partitions[record.partition] = Partition.of(record, found.name)
            case r.ShardAssigned():
                self._expect(0 <= record.partition < len(partitions), record, "no such partition")
                self._shards[record.topic_id, record.partition] = Shard.of(record)
            case _:
                assert_never(record)

    def _delete_topic(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.topic_id]
        del self._partitions[topic.topic_id]
        self._configs.pop((r.ResourceType.TOPIC, topic.name), None)
        for partition in range(len(topic.partitions)):
            self._shards.pop((topic.topic_id, partition), None)

    def _known_node(self, record: r.NodeFenced | r.NodeUnfenced | r.NodeUnregistered) -> Node:
        node = self._nodes.get(record.node_id)
        if node is None or node.epoch != record.epoch:
            raise ImageError(f"{record}: the node is {node}")
        return node

    @staticmethod
    def _expect(holds: bool, record: r.MetadataRecord, otherwise: str) -> None:
        if not holds:
            raise ImageError(f"{record}: {otherwise}")

    # Checking

    def check(self) -> None:
        """Raise ImageError unless the invariant holds; between the records of one decision it need not."""
        for topic in self._by_name.values():
            if self._by_id.get(topic.topic_id) is not topic:
                raise ImageError(f"{topic.name} is not the topic of its id")
            for index, partition in enumerate(topic.partitions):
                self._check_partition(topic, index, partition)
        if len(self._by_id) != len(self._by_name) or self._partitions.keys() != self._by_id.keys():
            raise ImageError("topics by id are not the topics by name")
        for (topic_id, index), shard in self._shards.items():
            if self.partition(topic_id, index) is None:
                raise ImageError(f"{shard}: no such partition")
            if shard.coordinator_id != NO_NODE and role_of(shard.coordinator_id) is not Role.COORDINATOR:
                raise ImageError(f"{shard}: the owner is no coordinator")

    def _check_partition(self, topic: Topic, index: int, partition: Partition) -> None:
        if (partition.topic, partition.topic_id, partition.partition) != (topic.name, topic.topic_id, index):
            raise ImageError(f"{partition} is not partition {index} of {topic.name}")
        if not partition.replicas or len(set(partition.replicas)) != len(partition.replicas):
            raise ImageError(f"{partition}: replicas must be distinct and not empty")
        if not set(partition.isr) <= set(partition.replicas):
            raise ImageError(f"{partition}: the ISR is not part of the replicas")
        if partition.leader == NO_NODE:
            return
        leader = self._nodes.get(partition.leader)
        if partition.leader not in partition.isr or leader is None or leader.fenced:
            raise ImageError(f"{partition}: the leader must be an unfenced broker of the ISR, it is {leader}")


def _set(table: dict[K, dict[str, V]], owner: K, key: str, value: V | None) -> None:
    """None takes a key away, and the owner with its last one."""
    values = table.setdefault(owner, {})
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
    if not values:
        del table[owner]

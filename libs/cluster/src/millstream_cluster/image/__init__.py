"""The cluster as the metadata log tells it: the fold of its records, with the lookups that every service needs.

`apply` is the only writer. Nothing here decides anything or knows about time. Each part of the cluster is folded by a
module of its own; this one only leads a record to its part.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import assert_never
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import Offset, ProducerId, Role
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.image.configs import ConfigsImage
from millstream_cluster.image.expectation import expect
from millstream_cluster.image.logins import LoginsImage
from millstream_cluster.image.nodes import NodesImage
from millstream_cluster.image.quotas import QuotasImage
from millstream_cluster.image.shards import ShardsImage
from millstream_cluster.image.topics import TopicsImage
from millstream_cluster.members import Node, Partition, Shard, Topic
from millstream_cluster.metadata_version import OLDEST, MetadataVersion


class Image:
    """What is true after the record at `offset`.

    Invariant (`check`): that of each part; together, a leader is an unfenced broker and a shard has its partition.
    """

    def __init__(self) -> None:
        self.offset = Offset(-1)
        """Of the last record that is in this Image; -1: none."""
        self.cluster_id: str | None = None
        self.controller: r.ControllerElected | None = None
        """The controller elected last, whether or not it still is there."""
        self.controller_resigned = False
        """Whether the controller has said that it stops; the next one's election takes it back."""
        self.next_producer_id = ProducerId(0)
        """Every producer id below it is given away; it only grows."""
        self._nodes = NodesImage()
        self._topics = TopicsImage()
        self._configs = ConfigsImage()
        self._quotas = QuotasImage()
        self.acls = AclsImage()
        self.logins = LoginsImage()
        self.metadata_version = OLDEST
        """What the log may hold from here on; it only grows."""
        self._features: dict[str, int] = {}
        """Levels that somebody has set; a feature that is not here is at what `features` says holds for it."""
        self._shards = ShardsImage()

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
        return self._nodes.by_id

    @property
    def brokers(self) -> dict[int, Node]:
        return self._nodes.of_role(Role.BROKER)

    @property
    def coordinators(self) -> dict[int, Node]:
        return self._nodes.of_role(Role.COORDINATOR)

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Topics by name."""
        return self._topics.by_name

    @property
    def shards(self) -> Mapping[tuple[UUID, int], Shard]:
        """Owners of coordinator topics' partitions, by topic id and partition."""
        return self._shards.by_partition

    def node(self, node_id: int) -> Node | None:
        return self._nodes.by_id.get(node_id)

    def topic(self, key: str | UUID) -> Topic | None:
        return self._topics.find(key)

    def partition(self, topic: str | UUID, partition: int) -> Partition | None:
        found = self._topics.find(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def partitions(self) -> Iterator[Partition]:
        for topic in self.topics.values():
            yield from topic.partitions

    def shard(self, topic: str | UUID, partition: int) -> Shard | None:
        found = self._topics.find(topic)
        return None if found is None else self.shards.get((found.topic_id, partition))

    def config(self, resource_type: r.ResourceType, name: str) -> Mapping[str, str]:
        """The dynamic configs set for this resource, nothing inherited."""
        return self._configs.of(resource_type, name)

    def config_names(self, resource_type: r.ResourceType) -> list[str]:
        """Names of this type's resources that have dynamic configs."""
        return self._configs.names(resource_type)

    @property
    def client_quotas(self) -> Mapping[tuple[r.QuotaEntity, ...], Mapping[str, float]]:
        """Quotas by whom they are for, then by their keys."""
        return self._quotas.by_entity

    @property
    def feature_levels(self) -> Mapping[str, int]:
        """Levels by feature, of those that somebody has set; metadata.version is not among them."""
        return MappingProxyType(self._features)

    def records(self) -> Iterator[r.MetadataRecord]:
        """The shortest list of records that folds into this Image as it is now: a snapshot. What may be in it comes first.

        They may be asked for bit by bit while others are applied: topics, of which there are many, are copied by who has which
        partition, and the rest is small.
        """
        return chain(list(self._before_topics()), self._topics.records(), list(self._behind_topics()))

    def _before_topics(self) -> Iterator[r.MetadataRecord]:
        if self.metadata_version > OLDEST:
            yield r.MetadataVersionSet(self.metadata_version)
        if self.cluster_id is not None:
            yield r.ClusterCreated(self.cluster_id)
        if self.controller is not None:
            yield self.controller
            if self.controller_resigned:
                yield r.ControllerResigned(self.controller.controller_id, self.controller.epoch)
        if self.next_producer_id:
            yield r.ProducerIdsAllocated(self.next_producer_id)
        yield from self._nodes.records()

    def _behind_topics(self) -> Iterator[r.MetadataRecord]:
        yield from self._configs.records()
        yield from self._quotas.records()
        yield from self.acls.records()
        yield from (r.FeatureLevelSet(name, level) for name, level in self._features.items())
        yield from self._shards.records()
        yield from self.logins.records()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return NotImplemented
        return vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    # Writing

    def apply(self, record: r.MetadataRecord, offset: int) -> None:
        """Make one more record true; one that does not fit is an ImageError and the log must not be followed further."""
        match record:
            case r.ClusterCreated():
                expect(self.cluster_id in (None, record.cluster_id), record, "the cluster has another id")
                self.cluster_id = record.cluster_id
            case r.ControllerElected():
                current = self.controller
                expect(current is None or record.epoch > current.epoch, record, f"the controller is {current}")
                self.controller, self.controller_resigned = record, False
            case r.ControllerResigned():
                current = self.controller
                expect(current is not None and record.epoch == current.epoch, record, f"it is {current}")
                self.controller_resigned = True
            case r.NodeRegistered() | r.NodeFenced() | r.NodeUnfenced() | r.NodeLogDirsChanged() | r.NodeUnregistered():
                self._nodes.apply(record, Offset(offset))
            case r.ProducerIdsAllocated():
                expect(record.next_producer_id > self.next_producer_id, record, "producer ids only grow")
                self.next_producer_id = record.next_producer_id
            case r.ConfigChanged():
                self._configs.apply(record)
            case r.ClientQuotaChanged():
                self._quotas.apply(record)
            case r.AclAdded() | r.AclRemoved():
                self.acls.apply(record)
            case r.MetadataVersionSet():
                expect(record.level > self.metadata_version, record, f"it is {self.metadata_version}")
                self.metadata_version = MetadataVersion(record.level)
            case r.FeatureLevelSet():
                self._features[record.name] = record.level
            case r.TopicDeleted():
                self._delete_topic(record)
            case r.TopicCreated() | r.PartitionCreated() | r.PartitionChanged():
                self._topics.apply(record)
            case (
                r.ScramCredentialSet()
                | r.ScramCredentialRemoved()
                | r.LoginSecretSet()
                | r.DelegationTokenSet()
                | r.DelegationTokenRemoved()
            ):
                self.logins.apply(record)
            case r.ShardAssigned():
                self._shards.apply(record, self._topics)
            case _:
                assert_never(record)
        self.offset = Offset(offset)

    def _delete_topic(self, record: r.TopicDeleted) -> None:
        topic = self._topics.find(record.topic_id)
        self._topics.apply(record)
        assert topic is not None, "the topics refused it otherwise"
        self._configs.forget(r.ResourceType.TOPIC, topic.name)
        self._shards.forget(topic)

    # Checking

    def check(self) -> None:
        """Raise ImageError unless the invariant holds; between the records of one decision it need not."""
        self._topics.check(self._nodes.by_id)
        self._shards.check(self._topics)

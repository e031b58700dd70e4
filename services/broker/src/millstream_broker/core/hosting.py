"""Which logs this broker creates, updates, deletes or sets aside when the metadata moved: a pure plan.

Data is deleted only because a record says so, with the topic's id; a log that nothing explains is set aside and kept.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.image import Image
from millstream_cluster.members import Partition

ReplicaKey: TypeAlias = tuple[UUID, int]
"""Topic id and partition: a topic created again under its old name is another one."""


@dataclass(frozen=True, slots=True)
class Create:
    partition: Partition


@dataclass(frozen=True, slots=True)
class Update:
    partition: Partition


@dataclass(frozen=True, slots=True)
class Delete:
    key: ReplicaKey


@dataclass(frozen=True, slots=True)
class SetAside:
    key: ReplicaKey


Step: TypeAlias = Create | Update | Delete | SetAside


@dataclass(slots=True)
class Touched:
    """What a run of metadata records was about."""

    partitions: dict[ReplicaKey, None] = field(default_factory=dict)
    deleted_topics: set[UUID] = field(default_factory=set)
    configs: dict[tuple[r.ResourceType, str], None] = field(default_factory=dict)

    def add(self, records: Iterable[r.MetadataRecord]) -> None:
        for record in records:
            match record:
                case r.PartitionCreated() | r.PartitionChanged():
                    self.partitions[record.topic_id, record.partition] = None
                case r.TopicDeleted():
                    self.deleted_topics.add(record.topic_id)
                case r.ConfigChanged():
                    self.configs[record.resource_type, record.resource_name] = None
                case _:
                    pass


def plan_changes(touched: Touched, image: Image, *, node_id: int, hosted: Collection[ReplicaKey]) -> Sequence[Step]:
    """Follow the metadata while running. Safe to stop after any step: a restart finds the rest."""
    steps: list[Step] = [Delete(key) for key in hosted if key[0] in touched.deleted_topics]
    for key in touched.partitions:
        if key[0] in touched.deleted_topics:
            continue
        steps.extend(_step(key, image, node_id=node_id, is_hosted=key in hosted, unassigned=Delete(key)))
    return steps


def plan_start(
    deleted_topics: Collection[UUID], image: Image, *, node_id: int, hosted: Collection[ReplicaKey]
) -> Sequence[Step]:
    """Bring what was found on disk in line with the whole image; deletions seen on the way to it are carried out."""
    steps: list[Step] = []
    for key in hosted:
        if image.partition(*key) is not None:
            continue
        steps.append(Delete(key) if key[0] in deleted_topics else SetAside(key))
    for partition in image.partitions():
        key = (partition.topic_id, partition.partition)
        steps.extend(_step(key, image, node_id=node_id, is_hosted=key in hosted, unassigned=SetAside(key)))
    return steps


def _step(
    key: ReplicaKey, image: Image, *, node_id: int, is_hosted: bool, unassigned: Delete | SetAside
) -> Iterable[Step]:
    partition = image.partition(*key)
    assert partition is not None, "only what the image knows is touched and not deleted"
    if node_id in partition.replicas:
        return (Update(partition) if is_hosted else Create(partition),)
    return (unassigned,) if is_hosted else ()

"""Which logs this broker creates, updates, deletes or sets aside when the metadata moved: a pure plan.

Data is deleted only because a record says so, with the topic's id; a log that nothing explains is set aside and kept. An image
is *unproven* until a controller answered a barrier begun after this process started (`MetadataFollower.until_proven`): it may be
older than what this disk has seen, so all that it may do is serve what it knows.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TypeAlias
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, UNASSIGNED_DIRECTORY, UNOPENED_DIRECTORY, NodeId
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_wire.late_dataclass import dataclass

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


@dataclass(frozen=True, slots=True)
class Lose:
    """The partition had a directory on this disk, and it is not there: what it held is gone."""

    partition: Partition


Step: TypeAlias = Create | Update | Delete | SetAside | Lose

Lost: TypeAlias = Mapping[ReplicaKey, bool]
"""Partitions without their directory, and whether the controller knows: it does not count on this broker's copy any more."""
NOTHING_LOST: Lost = MappingProxyType({})


@dataclass(slots=True)
class MetadataDelta:
    """What a run of metadata records changed, as far as a broker hosts it."""

    partitions: dict[ReplicaKey, None] = field(default_factory=dict)
    deleted_topics: set[UUID] = field(default_factory=set)
    configs: dict[tuple[r.ResourceType, str], None] = field(default_factory=dict)
    let_in: set[NodeId] = field(default_factory=set)
    """Nodes that were unfenced."""

    def add(self, records: Iterable[r.MetadataRecord]) -> None:
        for record in records:
            match record:
                case r.PartitionCreated() | r.PartitionChanged():
                    self.partitions[record.topic_id, record.partition] = None
                case r.TopicDeleted():
                    self.deleted_topics.add(record.topic_id)
                case r.ConfigChanged():
                    self.configs[record.resource_type, record.resource_name] = None
                case r.NodeUnfenced():
                    self.let_in.add(record.node_id)
                case _:
                    pass


def may_serve_unproven(partition: Partition) -> bool:
    """Whether a broker may lead what an unproven image says it leads, before it has registered in this life.

    The only replica may: nobody else can lead the partition, and its clients need not wait for the controller. With others
    one of them may have been elected meanwhile.
    """
    return len(partition.replicas) == 1


def as_served(partition: Partition, image: Image, node_id: int) -> Partition:
    """The partition as this broker takes part in it, now that it has registered in this life.

    One of several replicas leads only once the controller has let its broker in: what a proven image says of a broker that is
    fenced may still be from the life before, and another may be elected with the next record.
    """
    node = image.node(NodeId(node_id))
    return partition if node is not None and not node.fenced else kept_from_leading(partition, node_id)


def kept_from_leading(partition: Partition, node_id: int) -> Partition:
    """The partition without this broker as its leader, if others may lead it."""
    if partition.leader != node_id or may_serve_unproven(partition):
        return partition
    return replace(partition, leader=NO_NODE)


def plan_shut_out(image: Image, *, node_id: int, hosted: Iterable[ReplicaKey]) -> Sequence[Step]:
    """The controller has said that this broker is fenced, and the image does not say so yet: lead what nobody else may lead.

    Who leads the rest instead is said with the record that is on its way. Until then every plan is carried out `without_leading`.
    """
    known = (image.partition(*key) for key in hosted)
    return without_leading([Update(each) for each in known if each and each.leader == node_id], node_id)


def without_leading(steps: Iterable[Step], node_id: int) -> Sequence[Step]:
    return [Update(kept_from_leading(step.partition, node_id)) if isinstance(step, Update) else step for step in steps]


def plan_unproven(image: Image, *, node_id: int, hosted: Iterable[ReplicaKey]) -> Sequence[Step]:
    """Serve what is here, as far as an image may be believed that may be old. It makes, renames and deletes nothing."""
    known = (image.partition(*key) for key in hosted)
    return [Update(each) for each in known if each and node_id in each.replicas and may_serve_unproven(each)]


def plan_changes(
    delta: MetadataDelta,
    image: Image,
    *,
    node_id: int,
    hosted: Collection[ReplicaKey],
    lost: Lost = NOTHING_LOST,
    offline: Collection[ReplicaKey] = (),
) -> Sequence[Step]:
    """Follow a proven image while running. Safe to stop after any step: a restart finds the rest.

    What is `offline`, in a data directory that failed, belongs here and is left alone.
    """
    steps: list[Step] = [Delete(key) for key in hosted if key[0] in delta.deleted_topics]
    for key in delta.partitions:
        if key[0] in delta.deleted_topics:
            continue
        if key not in offline:
            steps.extend(_step(key, image, node_id=node_id, is_hosted=key in hosted, lost=lost, unassigned=Delete(key)))
    if node_id in delta.let_in:
        steps.extend(_led_from_now_on(delta, image, node_id=node_id, hosted=hosted))
    return steps


def _led_from_now_on(
    delta: MetadataDelta, image: Image, *, node_id: int, hosted: Iterable[ReplicaKey]
) -> Iterable[Step]:
    """What this broker would have led already if it had been let in."""
    for key in hosted:
        partition = None if key in delta.partitions else image.partition(*key)
        if partition is not None and partition.leader == node_id and not may_serve_unproven(partition):
            yield Update(partition)


def plan_start(
    deleted_topics: Collection[UUID],
    image: Image,
    *,
    node_id: int,
    hosted: Collection[ReplicaKey],
    lost: Lost = NOTHING_LOST,
    offline: Collection[ReplicaKey] = (),
) -> Sequence[Step]:
    """Bring what was found on disk in line with a proven image; deletions seen on the way to it are carried out."""
    steps: list[Step] = []
    for key in hosted:
        if image.partition(*key) is not None:
            continue
        steps.append(Delete(key) if key[0] in deleted_topics else SetAside(key))
    for partition in image.partitions():
        key = (partition.topic_id, partition.partition)
        if key not in offline:
            steps.extend(
                _step(key, image, node_id=node_id, is_hosted=key in hosted, lost=lost, unassigned=SetAside(key))
            )
    return steps


def _step(
    key: ReplicaKey, image: Image, *, node_id: int, is_hosted: bool, lost: Lost, unassigned: Delete | SetAside
) -> Iterable[Step]:
    partition = image.partition(*key)
    assert partition is not None, "only what the image knows is changed and not deleted"
    if node_id not in partition.replicas:
        return (unassigned,) if is_hosted else ()
    if is_hosted:
        return (Update(as_served(partition, image, node_id)),)
    if key in lost and not _may_begin_anew(partition, node_id, controller_knows=lost[key]):
        return (Lose(partition),)
    return (Create(partition),)


def is_counted_on(partition: Partition, node_id: int) -> bool:
    """Whether the controller takes this broker to have a copy that may be elected: in sync, eligible, or the last one that was."""
    return node_id in (*partition.isr, *partition.eligible_leader_replicas, *partition.last_known_elr)


def is_told(partition: Partition, node_id: int, place: UUID, *, is_only_one: bool) -> bool:
    """Whether the metadata says that this broker's replica is at `place`, or need not: the broker has one directory."""
    said = partition.directory_of(node_id)
    return said == place or (said == UNASSIGNED_DIRECTORY and is_only_one and place != UNOPENED_DIRECTORY)


def _may_begin_anew(partition: Partition, node_id: int, *, controller_knows: bool) -> bool:
    """Whether an empty log may stand in for a lost one without anybody taking it for what was lost.

    It may as soon as nobody counts on it and another replica leads, from which it follows. In the ISR it may only if the
    controller put it there knowing of the loss: by an unclean election, in which a person accepted it.
    """
    if node_id in partition.isr:
        return controller_knows
    return partition.online and not is_counted_on(partition, node_id)

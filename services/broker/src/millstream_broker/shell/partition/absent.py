"""Which partitions should be here and are not: lost with their directory, or in a data directory that cannot be used now."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_cluster.ids import LOST_DIRECTORY, UNASSIGNED_DIRECTORY, UNOPENED_DIRECTORY
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_log import LogError, TopicPartition
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Absent:
    key: ReplicaKey
    partition: Partition
    place: UUID
    """The data directory that it was in; LOST_DIRECTORY if the controller does not wait for that one any more."""
    is_lost: bool
    """Or else it may be there again with its directory."""


def absent(
    places: Mapping[ReplicaKey, UUID],
    paths: Mapping[UUID, Path],
    image: Image,
    directories: LogDirs,
    *,
    node_id: int,
    hosted: Collection[ReplicaKey],
) -> Iterator[Absent]:
    """`places` is where the disks say that each is, and `paths` where those directories were; the image may know more."""
    present = {each.directory_id: each.partitions() for each in directories.online}
    for key, place in {**_told(image, node_id, present), **places}.items():
        partition = image.partition(*key)
        if partition is None or node_id not in partition.replicas or key in hosted:
            continue
        name = TopicPartition(partition.topic, partition.partition)
        if place not in present and partition.directory_of(node_id) == LOST_DIRECTORY:
            yield Absent(key, partition, LOST_DIRECTORY, is_lost=True)
        elif place not in present and directories.may_be_offline(place, paths.get(place)):
            yield Absent(key, partition, place, is_lost=False)
        elif name not in present.get(place, ()) or not _may_be_of(directories, place, name, partition.topic_id):
            yield Absent(key, partition, place, is_lost=True)


def _told(image: Image, node_id: int, present: Collection[UUID]) -> dict[ReplicaKey, UUID]:
    """Replicas that this broker said are in a directory that it cannot use now."""
    found = {}
    for partition in image.partitions():
        if partition.directories and node_id in partition.replicas:
            place = partition.directory_of(node_id)
            if place not in (UNASSIGNED_DIRECTORY, UNOPENED_DIRECTORY) and place not in present:
                found[partition.topic_id, partition.partition] = place
    return found


def _may_be_of(directories: LogDirs, place: UUID, name: TopicPartition, topic_id: UUID) -> bool:
    directory = directories.find(place)
    try:
        return directory is not None and directory.topic_id(name) in (topic_id, None)
    except (OSError, LogError):
        return True  # its disk has to get better, or a person has to look

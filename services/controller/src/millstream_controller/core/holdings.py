"""Who keeps which partitions: indexes of the Image's partitions by broker, for decisions about one of many brokers."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeAlias
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import LOST_DIRECTORY, NO_NODE, UNASSIGNED_DIRECTORY, UNOPENED_DIRECTORY, NodeId
from millstream_cluster.image import Image
from millstream_cluster.members import Partition

Key: TypeAlias = tuple[UUID, int]


class Holdings:
    """Invariant: what a scan of the Image's partitions would give."""

    def __init__(self, image: Image) -> None:
        self._kept: defaultdict[NodeId, set[Key]] = defaultdict(set)
        self._offline: set[Key] = set()
        self._moving: set[Key] = set()
        self._led_by_another: set[Key] = set()
        self._replicas: Counter[NodeId] = Counter()
        self._preferred: Counter[NodeId] = Counter()
        self._directories: dict[NodeId, dict[UUID, set[Key]]] = {}
        for partition in image.partitions():
            self._add(partition)

    # Reading: partitions by their keys, in no order

    def replicas_on(self, node_id: int) -> frozenset[Key]:
        """Of which the broker has a replica, one that is on its way to it or away from it included."""
        return frozenset(self._kept.get(NodeId(node_id), ()))

    def keepers(self) -> list[NodeId]:
        """Brokers with at least one replica, registered or not."""
        return sorted(node_id for node_id, keys in self._kept.items() if keys)

    @property
    def offline(self) -> frozenset[Key]:
        """Without a leader."""
        return frozenset(self._offline)

    @property
    def moving(self) -> frozenset[Key]:
        """With replicas that a reassignment brings in or takes out."""
        return frozenset(self._moving)

    @property
    def led_by_another(self) -> frozenset[Key]:
        """With a leader that is not the preferred one."""
        return frozenset(self._led_by_another)

    def replicas_of(self, node_id: int) -> int:
        """How many replicas the broker will have once all reassignments are complete."""
        return self._replicas[NodeId(node_id)]

    def preferred_of(self, node_id: int) -> int:
        """Of how many partitions the broker is the preferred leader."""
        return self._preferred[NodeId(node_id)]

    def directories_of(self, node_id: int) -> list[UUID]:
        """Where the broker said that it keeps replicas, in no order."""
        directories = self._directories.get(NodeId(node_id), {})
        return [directory for directory, keys in directories.items() if keys]

    def in_directory(self, node_id: int, directory: UUID) -> frozenset[Key]:
        """Of which the broker said that it keeps a replica there."""
        directories = self._directories.get(NodeId(node_id), {})
        return frozenset(directories.get(directory, ()))

    # Writing

    def apply(self, record: r.MetadataRecord, image: Image) -> None:
        """Before the Image applies it: what it replaces is looked up there."""
        match record:
            case r.PartitionCreated():
                self._add(record)
            case r.PartitionChanged():
                before = image.partition(record.topic_id, record.partition)
                if before is not None:
                    self._remove(before)
                self._add(record)
            case r.TopicDeleted():
                topic = image.topic(record.topic_id)
                for partition in topic.partitions if topic is not None else ():
                    self._remove(partition)
            case _:
                pass

    def _add(self, state: Partition | r.PartitionCreated | r.PartitionChanged) -> None:
        key = (state.topic_id, state.partition)
        for node in state.replicas:
            self._kept[node].add(key)
            self._replicas[node] += node not in state.removing_replicas
        for node, directory in _places(state):
            self._directories.setdefault(node, {}).setdefault(directory, set()).add(key)
        self._preferred[state.replicas[0]] += 1
        if state.leader == NO_NODE:
            self._offline.add(key)
        elif state.leader != state.replicas[0]:
            self._led_by_another.add(key)
        if state.adding_replicas or state.removing_replicas:
            self._moving.add(key)

    def _remove(self, state: Partition) -> None:
        key = (state.topic_id, state.partition)
        for node in state.replicas:
            self._kept[node].discard(key)
            self._replicas[node] -= node not in state.removing_replicas
        for node, directory in _places(state):
            self._directories[node][directory].discard(key)
        self._preferred[state.replicas[0]] -= 1
        for keys in (self._offline, self._moving, self._led_by_another):
            keys.discard(key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Holdings) and self._filled() == other._filled()

    __hash__ = None  # type: ignore[assignment]

    def _filled(self) -> tuple[object, ...]:
        """Without what is empty by now."""
        kept = {node: keys for node, keys in self._kept.items() if keys}
        places = {
            (node, directory): keys
            for node, directories in self._directories.items()
            for directory, keys in directories.items()
            if keys
        }
        counts = (+self._replicas, +self._preferred)
        return (kept, self._offline, self._moving, self._led_by_another, places, counts)


def _places(state: Partition | r.PartitionCreated | r.PartitionChanged) -> Iterator[tuple[NodeId, UUID]]:
    """In which directories replicas are, where that is known."""
    for node, directory in zip(state.replicas, state.directories, strict=False):
        if directory not in (UNASSIGNED_DIRECTORY, LOST_DIRECTORY, UNOPENED_DIRECTORY):
            yield node, directory

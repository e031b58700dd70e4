"""Of which partitions a share group has state, kept elsewhere: a partition is given to members only once its state has begun."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from uuid import UUID

from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions, TopicIdPartition
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Invariant (`check`): a partition is in one of the three; each topic that is in one has its name here."""

    initializing: Partitions = NO_PARTITIONS
    """Their state is to be begun, and perhaps has been."""
    initialized: Partitions = NO_PARTITIONS
    deleting: frozenset[UUID] = frozenset()
    """Topics whose state is to be deleted, and perhaps has been."""
    names: Mapping[UUID, str] = field(default_factory=dict)

    def begin(self, partitions: Iterable[TopicIdPartition], names: Mapping[UUID, str]) -> "Kept":
        """State is to be begun, anew where there is some."""
        wanted = frozenset(partitions)
        return _kept(self.initializing | wanted, self.initialized - wanted, self.deleting, {**self.names, **names})

    def begun(self, partitions: Iterable[TopicIdPartition]) -> "Kept":
        """Of those that still are to be begun."""
        done = self.initializing.intersection(partitions)
        return _kept(self.initializing - done, self.initialized | done, self.deleting, self.names)

    def delete(self, topics: Iterable[UUID]) -> "Kept":
        gone = frozenset(topics).intersection(self.names)
        return _kept(_but(self.initializing, gone), _but(self.initialized, gone), self.deleting | gone, self.names)

    def deleted(self, topics: Iterable[UUID]) -> "Kept":
        """Of those that still are to be deleted."""
        return _kept(self.initializing, self.initialized, self.deleting.difference(topics), self.names)

    def check(self) -> None:
        assert not self.initializing & self.initialized
        kept = {topic_id for topic_id, _ in self.initializing | self.initialized}
        assert not kept & self.deleting
        assert self.names.keys() == kept | self.deleting


NOTHING_KEPT = Kept()


def _kept(
    initializing: Partitions, initialized: Partitions, deleting: frozenset[UUID], names: Mapping[UUID, str]
) -> Kept:
    topics = {topic_id for topic_id, _ in initializing | initialized} | deleting
    return Kept(
        initializing=initializing,
        initialized=initialized,
        deleting=deleting,
        names={topic_id: names[topic_id] for topic_id in topics},
    )


def _but(partitions: Partitions, topics: frozenset[UUID]) -> Partitions:
    return frozenset(partition for partition in partitions if partition[0] not in topics)

"""A group as a command would leave it: the live one until the first change, then a copy that takes the records."""

from typing import Any, Generic, Protocol, Self, TypeVar

from millstream_coordinator.core.group.epochs import GroupEpoch

R = TypeVar("R")


class Draftable(Protocol):
    """A group that records are applied to."""

    group_id: str
    epoch: int
    metadata_hash: int

    def apply(self, record: Any) -> None: ...

    def copy(self) -> Self: ...

    def epoch_record(self, epoch: GroupEpoch) -> Any:
        """The record that raises the group's epoch to this one."""


G = TypeVar("G", bound=Draftable)


class Draft(Generic[G, R]):
    def __init__(self, group: G) -> None:
        self.group = group
        self.records: list[R] = []

    def write(self, *records: R) -> None:
        if records and not self.records:
            self.group = self.group.copy()
        for record in records:
            self.group.apply(record)
            self.records.append(record)

    def raise_epoch(self, metadata_hash: int | None = None) -> None:
        """Something changed that asks for a new assignment."""
        known = self.group.metadata_hash if metadata_hash is None else metadata_hash
        self.write(self.group.epoch_record(GroupEpoch(self.group.epoch + 1, known)))

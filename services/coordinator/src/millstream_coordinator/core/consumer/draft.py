"""A consumer group as a command would leave it: the live one until the first change, then a copy that takes the records."""

from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.member import CurrentAssignment
from millstream_coordinator.core.consumer.records import (
    ConsumerRecord,
    CurrentStored,
    GroupEpoch,
    GroupEpochStored,
)


class Draft:
    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group
        self.records: list[ConsumerRecord] = []

    def write(self, *records: ConsumerRecord) -> None:
        if records and not self.records:
            self.group = self.group.copy()
        for record in records:
            self.group.apply(record)
            self.records.append(record)

    def raise_epoch(self, metadata_hash: int | None = None) -> None:
        """Something changed that asks for a new assignment."""
        known = self.group.metadata_hash if metadata_hash is None else metadata_hash
        self.write(GroupEpochStored(self.group.group_id, GroupEpoch(self.group.epoch + 1, known)))

    def put_current(self, member_id: str, current: CurrentAssignment) -> None:
        """The last thing that a command does: nothing looks at the group after it, so it needs no copy."""
        self.records.append(CurrentStored(self.group.group_id, member_id, current))

"""A share group as a command would leave it: the live one until the first change, then a copy that takes the records."""

from millstream_coordinator.core.consumer.records import GroupEpoch
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.kept import Kept
from millstream_coordinator.core.share.records import ShareEpochStored, ShareKeptStored, ShareRecord


class ShareDraft:
    def __init__(self, group: ShareGroup) -> None:
        self.group = group
        self.records: list[ShareRecord] = []

    def write(self, *records: ShareRecord) -> None:
        if records and not self.records:
            self.group = self.group.copy()
        for record in records:
            self.group.apply(record)
            self.records.append(record)

    def raise_epoch(self, metadata_hash: int | None = None) -> None:
        """Something changed that asks for a new assignment."""
        known = self.group.metadata_hash if metadata_hash is None else metadata_hash
        self.write(ShareEpochStored(self.group.group_id, GroupEpoch(self.group.epoch + 1, known)))

    def keep(self, kept: Kept) -> None:
        if kept != self.group.kept:
            self.write(ShareKeptStored(self.group.group_id, kept))

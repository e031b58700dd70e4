"""A share group as a command would leave it."""

from millstream_coordinator.core.group.draft import Draft
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.kept import Kept
from millstream_coordinator.core.share.records import ShareKeptStored, ShareRecord


class ShareDraft(Draft[ShareGroup, ShareRecord]):
    def keep(self, kept: Kept) -> None:
        if kept != self.group.kept:
            self.write(ShareKeptStored(self.group.group_id, kept))

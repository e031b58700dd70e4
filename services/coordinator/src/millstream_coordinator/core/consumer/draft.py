"""A consumer group as a command would leave it."""

from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.member import CurrentAssignment
from millstream_coordinator.core.consumer.records import ConsumerRecord, CurrentStored
from millstream_coordinator.core.group.draft import Draft


class ConsumerDraft(Draft[ConsumerGroup, ConsumerRecord]):
    def put_current(self, member_id: str, current: CurrentAssignment) -> None:
        """The last thing that a command does: nothing looks at the group after it, so it needs no copy."""
        self.records.append(CurrentStored(self.group.group_id, member_id, current))

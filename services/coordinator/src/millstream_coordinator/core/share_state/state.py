"""The state of one share partition: where its group begins, and what became of the records from there on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from millstream_wire.late_dataclass import dataclass

NOT_BEGUN = -1
"""In place of a start offset: the partition's leader finds it out, by the group's share.auto.offset.reset."""
UNKNOWN_COUNT = -1


@dataclass(frozen=True, slots=True)
class SharePartition:
    group_id: str
    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class StateBatch:
    """Records `[first, last]`, both included as in Kafka's format, that are all in the same state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    def continues(self, other: "StateBatch") -> bool:
        return (
            self.first_offset == other.last_offset + 1
            and self.delivery_state == other.delivery_state
            and self.delivery_count == other.delivery_count
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareState:
    """Invariant (`check`): the batches are in order, do not overlap and lie above the start offset."""

    snapshot_epoch: int = 0
    state_epoch: int
    """Raised whenever the group begins anew; who writes under an earlier one is told so."""
    leader_epoch: int = 0
    """Of the partition leader that read the state last; earlier leaders write no more."""
    start_offset: int = NOT_BEGUN
    delivery_complete_count: int = UNKNOWN_COUNT
    """How many records at or above the start offset nobody will be given any more."""
    batches: tuple[StateBatch, ...] = ()
    created_ms: int
    written_ms: int

    def with_changes(
        self,
        *,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> "ShareState":
        """The next state; a start offset that is not known stays what it was, and none goes back."""
        start = max(start_offset, self.start_offset)
        return replace(
            self,
            snapshot_epoch=self.snapshot_epoch + 1,
            leader_epoch=max(leader_epoch, self.leader_epoch),
            start_offset=start,
            delivery_complete_count=delivery_complete_count,
            batches=overlay(self.batches, batches, start),
            written_ms=now_ms,
        )

    def check(self) -> None:
        assert are_in_order(self.batches)
        assert all(batch.first_offset >= self.start_offset for batch in self.batches)


def overlay(below: Sequence[StateBatch], above: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """What is true of each offset from the start on, in as few batches as say it: what is above hides what is below. Each
    of the two is in order and without overlaps.
    """
    first = max(start_offset, 0)
    seen = [*_uncovered(below, above), *above]
    seen = [replace(batch, first_offset=max(first, batch.first_offset)) for batch in seen if batch.last_offset >= first]
    seen.sort(key=lambda batch: batch.first_offset)
    joined: list[StateBatch] = []
    for batch in seen:
        if joined and batch.continues(joined[-1]):
            joined[-1] = replace(joined[-1], last_offset=batch.last_offset)
        else:
            joined.append(batch)
    return tuple(joined)


def are_in_order(batches: Sequence[StateBatch]) -> bool:
    """Whether they begin before they end, at an offset, and each after the one before it."""
    end = 0
    for batch in batches:
        if not end <= batch.first_offset <= batch.last_offset:
            return False
        end = batch.last_offset + 1
    return True


def _uncovered(below: Sequence[StateBatch], above: Sequence[StateBatch]) -> Iterator[StateBatch]:
    """The parts of what is below that nothing is above."""
    index = 0
    for batch in below:
        first = batch.first_offset
        while index < len(above) and above[index].last_offset < first:
            index += 1
        while index < len(above) and above[index].first_offset <= batch.last_offset:
            cover = above[index]
            if first < cover.first_offset:
                yield replace(batch, first_offset=first, last_offset=cover.first_offset - 1)
            first = cover.last_offset + 1
            if first > batch.last_offset:
                break  # it may cover the next one too
            index += 1
        if first <= batch.last_offset:
            yield replace(batch, first_offset=first)

"""What is committed of a partition, as its replicas' high watermarks have said so far."""

from bisect import bisect_right

from millstream_simulation.checks.replicas.held import Batch, Held
from millstream_simulation.story import Violation


class Committed:
    """Only grows, but by an unclean election. Retention takes nothing out of it; neither does compaction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.end = 0
        self._batches: list[Batch] = []

    def extend(self, held: Held, end: int) -> None:
        """A replica that has everything up to `end` says that it is committed."""
        for batch in held.between(self.end, end):
            if batch.base < self.end:
                raise Violation(
                    f"{self.name}: what is committed ends at {self.end}, within {batch} of who has the next of it"
                )
            self._batches.append(batch)
        self.end = max(self.end, end)

    def judge(self, who: str, held: Held, first: int, end: int, *, compacts: bool) -> None:
        """What a replica has in `[first, end)` is what is committed there, as far as anything is."""
        end = min(end, self.end)
        position = max(first, held.start)
        for batch in held.between(position, end):
            if batch.base > position and not compacts and self._batch_at(position) is not None:
                raise Violation(
                    f"{self.name}: {who} has nothing at {position}, where {self._batch_at(position)} is committed"
                )
            position = batch.next
            committed = self._batch_at(batch.next - 1)
            if committed is None or committed == batch:
                continue
            if not compacts or committed.epoch != batch.epoch:
                raise Violation(f"{self.name}: {who} has {batch} where {committed} is committed")
        if position < end and not compacts and self._batch_at(position) is not None:
            raise Violation(f"{self.name}: {who} has nothing at {position}, and up to {end} is committed")

    def cut(self, end: int) -> None:
        """A person accepted that what is behind `end` is lost."""
        while self._batches and self._batches[-1].next > end:
            self._batches.pop()
        self.end = min(self.end, end)

    def _batch_at(self, offset: int) -> Batch | None:
        at = bisect_right(self._batches, offset, key=lambda batch: batch.base) - 1
        return self._batches[at] if at >= 0 and self._batches[at].next > offset else None

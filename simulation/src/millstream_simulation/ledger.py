"""What the clients of a simulation were promised, and whether it was kept.

Promises: an acknowledged record is in the log once, in its producer's order; the log holds nothing that was never sent; an
offset holds the same record for ever; an acknowledged commit is never forgotten nor undone.
"""

from collections import defaultdict
from collections.abc import Iterable

from millstream_simulation.story import Story, Violation
from millstream_wire.errors import ErrorCode

UNDECIDED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
"""Answers to a commit that may still be carried out."""
Place = tuple[int, int]
"""Partition and offset."""


class Ledger:
    def __init__(self, story: Story) -> None:
        self._story = story
        self._sent: dict[tuple[str, int], int] = defaultdict(int)
        self._acknowledged: dict[Place, bytes] = {}
        self._read: dict[Place, bytes] = {}
        self._committed: dict[tuple[str, int], int] = {}
        self._in_doubt: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._processed: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.commits = 0

    @property
    def acknowledged(self) -> int:
        return len(self._acknowledged)

    def next_value(self, producer: str, partition: int) -> bytes:
        """Number a record; its producer sends it until it knows the outcome."""
        number = self._sent[producer, partition]
        self._sent[producer, partition] = number + 1
        return f"{producer} {partition} {number}".encode()

    def note_acknowledged(self, partition: int, offset: int, value: bytes) -> None:
        before = self._acknowledged.setdefault((partition, offset), value)
        if before != value:
            raise Violation(f"offset {offset} of partition {partition} acknowledged for {before!r} and {value!r}")
        self._check_same(partition, offset, value)

    def end_of(self, partition: int) -> int:
        """Behind the last record that was acknowledged there."""
        return max((offset + 1 for place, offset in self._acknowledged if place == partition), default=0)

    def note_read(self, partition: int, offset: int, value: bytes) -> None:
        if (partition, offset) not in self._read:
            producer, of_partition, number = _parsed(value)
            if of_partition != partition or number >= self._sent.get((producer, partition), 0):
                raise Violation(f"offset {offset} of partition {partition} holds {value!r}, which nobody sent")
        self._check_same(partition, offset, value)

    def note_commit(self, group: str, partition: int, offset: int) -> None:
        """A commit was acknowledged."""
        self.commits += 1
        before = self._committed.get((group, partition), -1)
        if offset < before:
            raise Violation(f"group {group} committed {offset} of partition {partition} after {before}")
        self._committed[group, partition] = offset

    def note_commit_sent(self, group: str, partition: int, offset: int) -> None:
        """Until its answer comes, and for ever if none does, it may be carried out: late, after others."""
        self._in_doubt[group, partition].append(offset)

    def note_commit_answered(self, group: str, partition: int, offset: int, error: ErrorCode) -> None:
        if error not in UNDECIDED:
            self._in_doubt[group, partition].remove(offset)

    def note_processed(self, group: str, partition: int, offsets: Iterable[int]) -> None:
        self._processed[group, partition].update(offsets)

    def committed(self, group: str, partition: int) -> int:
        """The highest acknowledged commit so far."""
        return self._committed.get((group, partition), -1)

    def note_fetched_commit(self, group: str, partition: int, *, at_least: int, offset: int) -> None:
        """`at_least`: what was acknowledged before the question was asked."""
        if offset < at_least and offset not in self._in_doubt[group, partition]:
            raise Violation(f"group {group} was told {offset} for partition {partition}, {at_least} was committed")

    def check_processed(self, group: str, partition: int, log: list[tuple[int, bytes]]) -> None:
        """Every record was dealt with by a member of the group."""
        missed = [offset for offset, _ in log if offset not in self._processed[group, partition]]
        if missed:
            raise Violation(f"nobody in group {group} dealt with offsets {missed[:10]} of partition {partition}")

    def check_log(self, partition: int, log: list[tuple[int, bytes]]) -> None:
        """Judge a whole partition, read when all is quiet."""
        held = dict(log)
        for (of_partition, offset), value in self._acknowledged.items():
            if of_partition == partition and held.get(offset) != value:
                raise Violation(
                    f"acknowledged {value!r} at {offset} of partition {partition}; it holds {held.get(offset)!r}"
                )
        numbers: dict[str, list[int]] = defaultdict(list)
        for offset, value in log:
            self.note_read(partition, offset, value)
            producer, _, number = _parsed(value)
            numbers[producer].append(number)
        for producer, found in numbers.items():
            if found != list(range(len(found))):
                raise Violation(
                    f"{producer}'s records in partition {partition} are out of order, doubled or missing: {found}"
                )
        self._story.add("partition checked", partition=partition, records=len(log))

    def _check_same(self, partition: int, offset: int, value: bytes) -> None:
        before = self._read.setdefault((partition, offset), value)
        if before != value:
            raise Violation(f"offset {offset} of partition {partition} held {before!r}, now {value!r}")


def _parsed(value: bytes) -> tuple[str, int, int]:
    try:
        producer, partition, number = value.decode().split()
        return producer, int(partition), int(number)
    except ValueError:
        raise Violation(f"a record that nobody sent: {value!r}") from None

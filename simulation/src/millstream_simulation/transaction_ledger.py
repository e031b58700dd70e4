"""What transactions promise, and whether it was kept.

Promises: the result of each input is visible once to readers of committed records; of a transaction all is visible or nothing,
and nothing unless its producer asked to commit it; readers do not pass a transaction under way; a producer that was replaced
writes nothing any more.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from millstream_simulation.story import Story, Violation

Epoch = tuple[int, int]
"""Producer id and producer epoch."""
Place = tuple[int, int]
"""Partition and offset."""


@dataclass(eq=False, slots=True)
class Attempt:
    """One transaction of one producer."""

    number: int
    transactional_id: str
    epoch: Epoch
    results: list[tuple[int, bytes]] = field(default_factory=list)
    """Partition and value of what was sent."""
    places: dict[Place, float] = field(default_factory=dict)
    """Where acknowledged records are, and since when that is known."""
    asked: bool | None = None
    """Whether its end was asked for: to commit, or to abort."""
    passed: str | None = None
    """Seen while nobody had asked for its end: a last stable offset behind it."""


class TransactionLedger:
    def __init__(self, story: Story) -> None:
        self._story = story
        self._granted: dict[Epoch, str] = {}
        self._latest: dict[str, Epoch] = {}
        self._attempts: list[Attempt] = []
        self._open: set[int] = set()
        self._visible: dict[Place, bytes] = {}
        self._inputs: dict[bytes, Place] = {}
        self.committed = 0
        self.aborted = 0

    # Producers

    def note_granted(self, transactional_id: str, epoch: Epoch) -> None:
        if epoch in self._granted:
            raise Violation(f"{epoch} was given to {self._granted[epoch]} before {transactional_id} got it")
        self._granted[epoch] = transactional_id
        self._latest[transactional_id] = max(self._latest.get(transactional_id, epoch), epoch)

    def is_replaced(self, attempt: Attempt) -> bool:
        """Whether a newer producer had been told that it is the one."""
        return self._latest[attempt.transactional_id] > attempt.epoch

    def begin(self, transactional_id: str, epoch: Epoch) -> Attempt:
        attempt = Attempt(len(self._attempts), transactional_id, epoch)
        self._attempts.append(attempt)
        self._open.add(attempt.number)
        return attempt

    def new_result(self, attempt: Attempt, partition: int, source: Place) -> bytes:
        value = f"{attempt.number} {source[0]}/{source[1]}".encode()
        attempt.results.append((partition, value))
        return value

    def note_written(
        self, attempt: Attempt, partition: int, offsets: Iterable[int], *, was_replaced: bool, now_s: float
    ) -> None:
        """`was_replaced`: before it sent this for the first time."""
        if was_replaced:
            raise Violation(f"{_named(attempt)} wrote after a newer producer had been told that it is the one")
        attempt.places |= {(partition, offset): now_s for offset in offsets}

    def note_end_asked(self, attempt: Attempt, *, commit: bool) -> None:
        attempt.asked = commit
        self._open.discard(attempt.number)

    def note_ended(self, attempt: Attempt) -> None:
        if attempt.asked and attempt.passed is not None:
            raise Violation(f"{_named(attempt)} was under way: {attempt.passed}")
        if attempt.asked:
            self.committed += 1
        else:
            self.aborted += 1

    # Readers

    def note_stable(self, partition: int, last_stable_offset: int, *, asked_s: float) -> None:
        """A reader was told so; the question had been asked at that time."""
        for number in self._open:
            attempt = self._attempts[number]
            for (where, offset), since_s in attempt.places.items():
                if where == partition and offset < last_stable_offset and since_s < asked_s:
                    attempt.passed = f"it wrote {offset} of partition {partition}, stable is {last_stable_offset}"

    def note_visible(self, partition: int, offset: int, value: bytes) -> None:
        """A reader of committed records got this."""
        place = partition, offset
        before = self._visible.setdefault(place, value)
        if before != value:
            raise Violation(f"offset {offset} of partition {partition} held {before!r}, now {value!r}")
        number, _, source = value.partition(b" ")
        attempt = self._attempts[int(number)]
        if not attempt.asked:
            raise Violation(f"{_named(attempt)} is visible at {place}, and nobody committed it")
        if (partition, value) not in attempt.results:
            raise Violation(f"{value!r} is visible at {place}, and nobody sent it there")
        elsewhere = self._inputs.setdefault(source, place)
        if elsewhere != place:
            raise Violation(f"the result of {source.decode()} is visible twice: at {elsewhere} and at {place}")

    def check(self, logs: Mapping[int, Sequence[tuple[int, bytes]]], inputs: Iterable[Place]) -> None:
        """All is quiet: `logs` is what a reader of committed records finds in each partition, `inputs` what there was to do."""
        shown: dict[int, int] = defaultdict(int)
        read: dict[Place, bytes] = {}
        for partition, log in logs.items():
            for offset, value in log:
                self.note_visible(partition, offset, value)
                read[partition, offset] = value
                shown[int(value.split()[0])] += 1
        if lost := self._visible.keys() - read.keys():
            raise Violation(f"visible before and gone now: {sorted(lost)[:10]}")
        for number, count in shown.items():
            if count != len(self._attempts[number].results):
                whole = len(self._attempts[number].results)
                raise Violation(f"{_named(self._attempts[number])} is visible in part: {count} of {whole}")
        missing = [source for source in inputs if f"{source[0]}/{source[1]}".encode() not in self._inputs]
        if missing:
            raise Violation(f"no result of {missing[:10]} is visible")
        self._story.add("results checked", results=len(read), committed=self.committed, aborted=self.aborted)


def _named(attempt: Attempt) -> str:
    return f"transaction {attempt.number} of {attempt.transactional_id} {attempt.epoch}"

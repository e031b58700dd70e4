"""What a log must hold after whatever was done to it and whatever its disk did.

Promises: what was appended is there until it is cut off, deleted or compacted away. A kill loses nothing. A power loss loses
nothing that lies before an offset which the log has called flushed; behind that it may lose any end of the log, or bring back
what was cut off, but never mix the two. What a log knows of producers, transactions and leader epochs is what its batches say.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millstream_log import AbortedTransaction, Log
from millstream_simulation.story import Violation
from millstream_wire.records import Record, decode_batches

Records = Mapping[int, tuple[bytes | None, bytes | None]]
"""Keys and values by offset."""


@dataclass(frozen=True, slots=True)
class Batch:
    offset: int
    records: tuple[tuple[bytes | None, bytes | None], ...]
    leader_epoch: int
    producer_id: int = -1
    producer_epoch: int = -1
    last_sequence: int = -1
    transactional: bool = False
    commits: bool | None = None
    """Of the end of a transaction; None for records."""

    @property
    def end(self) -> int:
        return self.offset + len(self.records)


@dataclass(slots=True)
class Producer:
    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    """Of its records: the end of a transaction has no sequence number."""
    transaction_start: int = -1


@dataclass(slots=True)
class Branch:
    """A log that there was, and whose end was cut off."""

    batches: list[Batch]
    end: int
    cut: int


@dataclass(slots=True)
class Model:
    """Invariant: `batches` follow each other (with gaps where a leader was compacted) and end at or before `end`."""

    batches: list[Batch] = field(default_factory=list)
    start: int = 0
    end: int = 0
    flushed: int = 0
    """The log has called everything before it flushed."""
    cleaned: int = 0
    """Compaction may have taken records before it."""
    cut_off: list[Branch] = field(default_factory=list)
    """What a power loss may bring back: the log has called nothing flushed that came after the cut."""
    excused: dict[bytes | None, int] = field(default_factory=dict)
    """Keys whose newest record was cut off after compaction had taken the ones before it; where the cut was."""
    in_doubt: bool = False
    """A flush has failed since the log was opened: what was not flushed is lost at the next start."""

    @property
    def open_transactions(self) -> set[int]:
        """The producers of those that have not ended."""
        found: set[int] = set()
        for batch in self.batches:
            if batch.commits is not None:
                found.discard(batch.producer_id)
            elif batch.transactional:
                found.add(batch.producer_id)
        return found

    def appended(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.end = batch.end

    def start_moved(self, log: Log) -> None:
        self.start = log.log_start_offset

    def cut(self, log: Log) -> None:
        end = log.log_end_offset
        if end == self.end:
            return
        self.cut_off.append(Branch(list(self.batches), self.end, end))
        gone = [batch for batch in self.batches if batch.end > end]
        if any(batch.offset < end for batch in gone):
            raise Violation(f"the log was cut to {end}, inside a batch")
        self._excuse(gone, end)
        self.batches = [batch for batch in self.batches if batch.end <= end]
        self.end, self.flushed, self.cleaned = end, min(self.flushed, end), min(self.cleaned, end)

    def cut_in_doubt(self, offset: int) -> None:
        """A cut failed, and may come about at the next start."""
        self.flushed, self.in_doubt = min(self.flushed, offset), True

    def note_flushed(self, log: Log) -> None:
        """Believe what the log says."""
        self.flushed = max(self.flushed, min(log.recovery_point, self.end))
        self.cut_off = [branch for branch in self.cut_off if self.flushed <= branch.cut]

    def reopened(self, log: Log, *, after_power_loss: bool) -> None:
        """Take over how much of the log is left, if that may be."""
        end = log.log_end_offset
        self.start = log.log_start_offset
        branches = [Branch(self.batches, self.end, self.end)]
        if after_power_loss:
            branches += reversed(self.cut_off)
        elif end != self.end and not self.in_doubt:
            raise Violation(f"the log ended at {self.end}, and after a kill at {end}")
        if end < self.flushed:
            raise Violation(f"everything before {self.flushed} was flushed, and the log ends at {end}")
        complaints: list[str] = []
        for branch in branches:
            complaint = self._take_over(branch, log)
            if complaint is None:
                break
            complaints.append(complaint)
        else:
            raise Violation(complaints[0])
        self.in_doubt = False
        self.note_flushed(log)
        if after_power_loss:
            self.cut_off.clear()

    def _take_over(self, branch: Branch, log: Log) -> str | None:
        """Be that branch as far as the log goes, unless the log is not it; then say why not."""
        end = log.log_end_offset
        if end > branch.end:
            return f"the log ended at {branch.end}, and ends at {end} now"
        batches = [batch for batch in branch.batches if batch.end <= end]
        excused, cleaned = dict(self.excused), self.cleaned
        self._excuse([batch for batch in self.batches if batch.end > end], end)
        self.cleaned = min(cleaned, end)
        complaint = self._complaint(batches, log)
        if complaint is None:
            self.batches, self.end = batches, end
        else:
            self.excused, self.cleaned = excused, cleaned
        return complaint

    def _excuse(self, gone: list[Batch], end: int) -> None:
        if end < self.cleaned:
            self.excused |= {key: end for batch in gone for key, _ in batch.records}

    def check(self, log: Log) -> None:
        log.check()
        if (log.log_start_offset, log.log_end_offset) != (self.start, self.end):
            raise Violation(
                f"the log is [{log.log_start_offset}, {log.log_end_offset}), not [{self.start}, {self.end})"
            )
        complaint = self._complaint(self.batches, log)
        if complaint is not None:
            raise Violation(complaint)

    def _complaint(self, batches: list[Batch], log: Log) -> str | None:
        held = {record.offset: (record.key, record.value) for record in read_all(log)}
        return (
            self._wrong_records(batches, held)
            or self._wrong_epochs(batches, held, log)
            or self._wrong_producers(batches, log)
        )

    def _wrong_records(self, batches: list[Batch], held: Records) -> str | None:
        wanted = {
            batch.offset + number: record
            for batch in batches
            for number, record in enumerate(batch.records)
            if batch.commits is None and batch.offset + number >= self.start
        }
        for offset, record in held.items():
            if wanted.get(offset) != record:
                return f"offset {offset} holds {record}, not {wanted.get(offset)}"
        missing = [offset for offset in wanted if offset >= self.cleaned and offset not in held]
        if missing:
            return f"records are missing from offset {missing[0]} on"
        return self._wrong_keys(wanted, held) if self.cleaned else None

    def _wrong_keys(self, wanted: Records, held: Records) -> str | None:
        newest, found = _newest(wanted), _newest(held)
        for key, (_, value) in found.items():
            if key not in newest:
                return f"{key!r} was deleted and is {value[:20]!r} again"
            if newest[key][1] != value:
                return f"{key!r} is {value[:20]!r}, and was {newest[key][1][:20]!r}"
        for key, (offset, value) in newest.items():
            if key not in found and offset >= self.excused.get(key, 0):
                return f"compaction took {key!r} with its newest value {value[:20]!r} at {offset}"
        return None

    def _wrong_epochs(self, batches: list[Batch], held: Records, log: Log) -> str | None:
        for batch in batches:
            if batch.end <= self.cleaned and held.keys().isdisjoint(range(batch.offset, batch.end)):
                continue  # compaction took all of it
            if batch.offset >= self.start and (found := log.epoch_of(batch.offset)) != batch.leader_epoch:
                return f"the epoch at {batch.offset} is {batch.leader_epoch}, and the log says {found}"
        return None

    def _wrong_producers(self, batches: list[Batch], log: Log) -> str | None:
        producers, aborted = fold(batches)
        for producer_id, producer in producers.items():
            entry = log.producer(producer_id)
            known = Producer() if entry is None else Producer(entry.epoch, entry.last_sequence)
            if known.last_sequence < 0 and producer.last_offset < self.start:
                continue  # no record of it is left
            if (known.epoch, known.last_sequence) != (producer.epoch, producer.last_sequence):
                return f"producer {producer_id} is {producer}, and the log knows {known}"
        unstable = min(
            (each.transaction_start for each in producers.values() if each.transaction_start >= 0), default=None
        )
        if (unstable is None or unstable >= self.start) and log.first_unstable_offset != unstable:
            return f"the first open transaction begins at {unstable}, and the log says {log.first_unstable_offset}"
        left = fold(batch for batch in batches if batch.end > self.start)[1]
        found = log.aborted_transactions(self.start, log.log_end_offset)
        if not _tells(found, aborted, left):
            return f"aborted transactions are {aborted}, {left} by what is left, and the log says {found}"
        return None


def _tells(found: list[AbortedTransaction], known: list[AbortedTransaction], left: list[AbortedTransaction]) -> bool:
    """Whether a log tells all that a reader needs, and nothing else.

    `left` is what the batches from the log's start on say. A log that was opened again may know no more than that of
    transactions that began before its start; one that was not knows what all batches say.
    """
    told = {(each.producer_id, each.last_offset): each for each in found}
    all_known = {(each.producer_id, each.last_offset): each for each in known}
    for each in left:
        entry = told.get((each.producer_id, each.last_offset))
        before = all_known[each.producer_id, each.last_offset]
        if entry is None or not before.first_offset <= entry.first_offset <= each.first_offset:
            return False
        if not before.last_stable_offset <= entry.last_stable_offset <= each.last_stable_offset:
            return False
    return told.keys() <= all_known.keys()


def fold(batches: Iterable[Batch]) -> tuple[dict[int, Producer], list[AbortedTransaction]]:
    """What batches say of producers and transactions."""
    producers: dict[int, Producer] = {}
    aborted: list[AbortedTransaction] = []
    for batch in batches:
        if batch.producer_id < 0:
            continue
        known = producers.setdefault(batch.producer_id, Producer())
        known.epoch = batch.producer_epoch
        if batch.commits is None:
            known.last_sequence, known.last_offset = batch.last_sequence, batch.end - 1
            if batch.transactional and known.transaction_start < 0:
                known.transaction_start = batch.offset
            continue
        start, known.transaction_start = known.transaction_start, -1
        if start >= 0 and not batch.commits:
            starts = [each.transaction_start for each in producers.values() if each.transaction_start >= 0]
            aborted.append(AbortedTransaction(batch.producer_id, start, batch.offset, min(starts, default=batch.end)))
    return producers, aborted


def read_all(log: Log) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        records = decode_batches(read.slice.read())
        found += [record for record in records if record.offset >= log.log_start_offset]
        offset = read.next_offset
    return found


def _newest(records: Records) -> dict[bytes | None, tuple[int, bytes]]:
    """Offset and value of each key that is not deleted."""
    found: dict[bytes | None, tuple[int, bytes]] = {}
    for offset, (key, value) in sorted(records.items()):
        if value is None:
            found.pop(key, None)
        else:
            found[key] = offset, value
    return found

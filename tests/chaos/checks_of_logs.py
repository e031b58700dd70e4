"""What producers were promised of each record, and readers of each offset, compared with the log as it is in the end."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from history import COMMITTED_ONLY, EVERYTHING, Acked, Event, Final, Read, Sent, Stored
from violations import Kind, Violation

Place: TypeAlias = tuple[str, int]
Life: TypeAlias = tuple[int, int]
"""A producer id and its epoch."""
WITHOUT_MARKERS = frozenset({"orders"})
"""Topics that no transaction writes to: every offset is a record's."""


def logs(history: Sequence[Event], isolation: str) -> dict[Place, Final]:
    return {
        (each.topic, each.partition): each
        for each in history
        if isinstance(each, Final) and each.isolation == isolation
    }


def named(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


class Lives:
    """Which producer id and epoch wrote an offset, by the batches that replicas have on their disks."""

    def __init__(self, history: Sequence[Event]) -> None:
        self._batches: dict[Place, list[tuple[int, int, Life]]] = defaultdict(list)
        for each in history:
            if isinstance(each, Stored):
                batches = [(base, last, (producer, epoch)) for base, last, _, _, producer, epoch, _ in each.batches]
                longest = self._batches[each.topic, each.partition]
                self._batches[each.topic, each.partition] = max(batches, longest, key=len)

    def at(self, place: Place, offset: int) -> Life | None:
        """Nothing where no replica says it."""
        batches = self._batches.get(place, [])
        index = bisect_right(batches, offset, key=lambda batch: batch[0]) - 1
        if index >= 0 and offset <= batches[index][1]:
            return batches[index][2]
        return None


def lost(history: Sequence[Event]) -> Iterator[Violation]:
    """An acknowledged record is at the offset that it was acknowledged with; anywhere, if its producer was told of none."""
    finals = logs(history, EVERYTHING)
    at = {place: _by_offset(log) for place, log in finals.items()}
    keys = {place: frozenset(log.keys) for place, log in finals.items()}
    for each in history:
        if isinstance(each, Acked):
            place = (each.topic, each.partition)
            if each.offset is None and each.key in keys.get(place, ()):
                continue
            found = at.get(place, {}).get(each.offset)
            if found != each.key:
                evidence = f"{each.key} acknowledged at {each.offset} at {each.at}, where {found or 'nothing'} is"
                yield Violation(Kind.LOST, named(place), evidence)


def duplicated(history: Sequence[Event]) -> Iterator[Violation]:
    """No record is there twice, unless its producer sent it again under another epoch, which no broker can tell from a new one."""
    lives = Lives(history)
    for place, log in logs(history, EVERYTHING).items():
        for key, offsets in _repeated(log).items():
            written_in = {lives.at(place, offset) for offset in offsets}
            if None in written_in or len(written_in) < len(offsets):
                yield Violation(Kind.DUPLICATED, named(place), f"{key} at {offsets}")


def sent_again(history: Sequence[Event]) -> int:
    """How many records producers themselves wrote more than once: librdkafka does after some errors, under a raised epoch."""
    repeated = sum(len(_repeated(log)) for log in logs(history, EVERYTHING).values())
    return repeated - sum(1 for _ in duplicated(history))


def out_of_order(history: Sequence[Event]) -> Iterator[Violation]:
    """The records of one producer are, within an epoch of its, in the order in which it was given them."""
    sent: dict[tuple[Place, str], int] = {}
    producer_of: dict[str, str] = {}
    for number, each in enumerate(history):
        if isinstance(each, Sent):
            sent[(each.topic, each.partition), each.key] = number
            producer_of[each.key] = each.producer
    lives = Lives(history)
    for place, log in logs(history, EVERYTHING).items():
        last: dict[tuple[str, Life | None], tuple[int, str]] = {}
        for offset, key in zip(log.offsets, log.keys, strict=True):
            number = sent.get((place, key))
            if number is None:
                continue
            whose = producer_of[key], lives.at(place, offset)
            before = last.get(whose, (-1, ""))
            if number < before[0]:
                yield Violation(Kind.OUT_OF_ORDER, named(place), f"{key} at {offset} behind {before[1]}")
            last[whose] = max(before, (number, key))


def vanished(history: Sequence[Event]) -> Iterator[Violation]:
    """What anybody was given at an offset is there in the end, for readers of the same isolation; told once for each offset."""
    known = {
        isolation: {place: _by_offset(log) for place, log in logs(history, isolation).items()}
        for isolation in (EVERYTHING, COMMITTED_ONLY)
    }
    told: set[tuple[str, Place, int, str]] = set()
    for each in history:
        if not isinstance(each, Read):
            continue
        place = (each.topic, each.partition)
        final = known[each.isolation].get(place, {})
        for offset, key in zip(each.offsets, each.keys, strict=True):
            if final.get(offset) != key and (each.isolation, place, offset, key) not in told:
                told.add((each.isolation, place, offset, key))
                evidence = f"{each.reader} read {key} at {offset} at {each.at}, where {final.get(offset, 'nothing')} is"
                yield Violation(Kind.VANISHED, named(place), evidence)


def invented(history: Sequence[Event]) -> Iterator[Violation]:
    """Nothing is in a log that nobody sent there."""
    sent: Mapping[Place, set[str]] = defaultdict(set)
    for each in history:
        if isinstance(each, Sent):
            sent[each.topic, each.partition].add(each.key)
    for place, log in logs(history, EVERYTHING).items():
        for offset, key in zip(log.offsets, log.keys, strict=True):
            if key not in sent[place]:
                yield Violation(Kind.INVENTED, named(place), f"{key} at {offset}")


def holes(history: Sequence[Event]) -> Iterator[Violation]:
    """Offsets follow each other, from 0 to the end; for topics with markers `checks_of_replicas.gaps` says it."""
    for place, log in logs(history, EVERYTHING).items():
        if place[0] in WITHOUT_MARKERS:
            for before, after in pairwise([-1, *log.offsets, log.end]):
                if after != before + 1:
                    yield Violation(Kind.HOLE, named(place), f"nothing between {before} and {after}")


def unread(history: Sequence[Event]) -> Iterator[Violation]:
    """Both views of every partition were read: without them nothing above says anything."""
    everything, committed = logs(history, EVERYTHING), logs(history, COMMITTED_ONLY)
    for place in sorted({(each.topic, each.partition) for each in history if isinstance(each, Sent)}):
        for isolation, found in ((EVERYTHING, everything), (COMMITTED_ONLY, committed)):
            if place not in found:
                yield Violation(Kind.UNREAD, named(place), f"no final {isolation} view")


def _repeated(log: Final) -> dict[str, list[int]]:
    """By key, the offsets of what is there more than once."""
    often = {key for key, count in Counter(log.keys).items() if count > 1}
    found: dict[str, list[int]] = defaultdict(list)
    for offset, key in zip(log.offsets, log.keys, strict=True):
        if key in often:
            found[key].append(offset)
    return found


def _by_offset(log: Final) -> dict[int, str]:
    return dict(zip(log.offsets, log.keys, strict=True))

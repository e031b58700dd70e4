"""What every replica has on its disk when all have been in sync and were stopped: the same batches, without gaps, in epochs that rise."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from history import Event, Stored
from violations import Kind, Violation


def _place(log: Stored) -> str:
    return f"{log.topic}-{log.partition}"


def diverged(history: Sequence[Event]) -> Iterator[Violation]:
    """Each replica is compared with the first, to where the shorter one ends: those who stop later may have more."""
    by_partition: dict[str, list[Stored]] = defaultdict(list)
    for each in history:
        if isinstance(each, Stored):
            by_partition[_place(each)].append(each)
    for place, (first, *others) in sorted(by_partition.items()):
        for other in others:
            for mine, theirs in zip(first.batches, other.batches, strict=False):
                if list(mine) != list(theirs):
                    evidence = f"{first.replica} has {list(mine)}, {other.replica} {list(theirs)} (base, last, epoch, digest, producer)"
                    yield Violation(Kind.DIVERGED, place, evidence)
                    break


def gaps(history: Sequence[Event]) -> Iterator[Violation]:
    for each in history:
        if isinstance(each, Stored):
            for before, after in pairwise([(0, -1), *each.batches]):
                if after[0] != before[1] + 1:
                    evidence = f"{each.replica} has nothing between {before[1]} and {after[0]}"
                    yield Violation(Kind.HOLE, _place(each), evidence)


def epochs_back(history: Sequence[Event]) -> Iterator[Violation]:
    for each in history:
        if isinstance(each, Stored):
            for before, after in pairwise(each.batches):
                if after[2] < before[2]:
                    evidence = f"{each.replica} has epoch {after[2]} at {after[0]} behind {before[2]} at {before[0]}"
                    yield Violation(Kind.EPOCH_BACK, _place(each), evidence)

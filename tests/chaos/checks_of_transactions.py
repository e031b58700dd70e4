"""Whole or nothing: what readers of committed records see of each transaction, and of each order that was copied exactly once."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from checks_of_logs import logs, named
from history import ABORTED, COMMITTED, COMMITTED_ONLY, EVERYTHING, Ended, Event, FinalCommit, Trouble
from violations import Kind, Violation

FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
SOURCE, COPIES, COPIERS = "orders", "copies", "copiers"


def torn(history: Sequence[Event]) -> Iterator[Violation]:
    """All of a committed transaction, nothing of an aborted one, either of one whose producer was told nothing."""
    visible: Counter[str] = Counter()
    for log in logs(history, COMMITTED_ONLY).values():
        visible.update(log.keys)
    for each in history:
        if isinstance(each, Ended):
            seen = [key for key in each.keys if visible[key]]
            missing = [key for key in each.keys if not visible[key]]
            wrong = {COMMITTED: missing, ABORTED: seen}.get(each.outcome, seen if seen and missing else [])
            if wrong:
                what = (
                    "visible" if each.outcome == ABORTED else "missing" if each.outcome == COMMITTED else "visible only"
                )
                evidence = f"{each.outcome} at {each.at}, {len(wrong)} of {len(each.keys)} {what}: {wrong[:3]}"
                yield Violation(Kind.TORN, f"{each.topic} {each.producer} {each.number}", evidence)


def hanging(history: Sequence[Event]) -> Iterator[Violation]:
    """Once every transaction has ended, readers of committed records see as far as the others."""
    everything = logs(history, EVERYTHING)
    for place, log in logs(history, COMMITTED_ONLY).items():
        if place in everything and log.end < everything[place].end:
            evidence = f"committed records end at {log.end}, the log at {everything[place].end}"
            yield Violation(Kind.HANGING, named(place), evidence)


def wrongly_fenced(history: Sequence[Event]) -> Iterator[Violation]:
    """Every transactional id has one holder at a time, so nobody may be told that there is a newer one; said once a client."""
    told: set[str] = set()
    for each in history:
        fenced = isinstance(each, Trouble) and each.fatal and each.error.split(":")[0] in FENCED
        if fenced and each.client not in told:
            told.add(each.client)
            yield Violation(Kind.FENCED, each.client, f"{each.error} at {each.at}")


def copies(history: Sequence[Event]) -> Iterator[Violation]:
    """Each order below the copiers' committed offset was copied once, in order, and none above it."""
    done = {each.partition: each.offset for each in history if isinstance(each, FinalCommit) and each.group == COPIERS}
    if not done:
        return
    found: dict[int, list[int]] = defaultdict(list)
    for (topic, partition), log in logs(history, COMMITTED_ONLY).items():
        if topic == COPIES:
            found[partition] = [int(key.split("|")[2]) for key in log.keys]
    for (topic, partition), source in logs(history, EVERYTHING).items():
        if topic != SOURCE:
            continue
        wanted = [offset for offset in source.offsets if offset < done.get(partition, -1)]
        if found[partition] != wanted:
            yield Violation(Kind.COPY, f"{COPIES}-{partition}", _difference(wanted, found[partition]))


def _difference(wanted: list[int], found: list[int]) -> str:
    missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if not missing and not extra:
        first = next(index for index, pair in enumerate(zip(wanted, found, strict=True)) if pair[0] != pair[1])
        return f"out of order: source offset {found[first]} where {wanted[first]} should be"
    return f"missing source offsets {_some(missing)}, too often {_some(extra)}"


def _some(offsets: Counter[int]) -> str:
    first = sorted(offsets)[:5]
    return f"{first}{' and more' if len(offsets) > len(first) else ''}"

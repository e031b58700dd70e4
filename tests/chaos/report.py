"""Prints what a run was: how much happened, what was broken, and how long what was unavailable."""

from collections import Counter
from collections.abc import Sequence

from checks_of_logs import sent_again
from history import Acked, Commit, Ended, Event, Failed, Read, Resumed, Struck, Trouble
from unavailability import Row, acknowledgements, commits, transactions, unavailability
from violations import Violation

SHOWN_OF_A_KIND = 5


def report(history: Sequence[Event], violations: Sequence[Violation], system: str) -> str:
    lines = [f"--- {system}", *_counts(history), ""]
    for what, whose, times_of in (
        ("an acknowledgement", "partition", acknowledgements(history)),
        ("a group's commit", "group", commits(history)),
        ("a transaction's end", "producer", transactions(history)),
    ):
        lines += [*_table(what, whose, unavailability(history, times_of)), ""]
    return "\n".join([*lines, *_violations(violations)])


def _counts(history: Sequence[Event]) -> list[str]:
    counts = Counter(type(each) for each in history)
    outcomes = Counter(f"{each.topic} {each.outcome}" for each in history if isinstance(each, Ended))
    read = sum(len(each.offsets) for each in history if isinstance(each, Read))
    refused = sum(1 for each in history if isinstance(each, Commit) and each.error)
    fatal = Counter(each.error.split(":")[0] for each in history if isinstance(each, Trouble) and each.fatal)
    faults = Counter(each.family for each in history if isinstance(each, Struck))
    return [
        f"faults: {counts[Struck]} ({_listed(faults)})",
        f"records: {counts[Acked]} acknowledged, {counts[Failed]} given up, {read} read",
        f"transactions: {_listed(outcomes)}",
        f"groups: {counts[Commit]} commits, {refused} of them refused or unknown; partitions taken over {counts[Resumed]} times",
        f"records that producers sent again under another epoch: {sent_again(history)}",
        f"errors that ended a client's or a node's life: {_listed(fatal) or 'none'}",
    ]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _table(what: str, whose: str, rows: Sequence[Row]) -> list[str]:
    head = f"{f'longest time without {what}, s':<44}{'faults':>7}{'median':>9}{'median of':>11}{'of those':>10}{'worst':>8}{'until':>9}"
    below = f"{'':<44}{'':>7}{whose:>9}{'worst':>11}{'meanwhile':>10}{'':>8}{'whole':>9}"
    return [
        head,
        below,
        *(
            f"{row.kind:<44}{row.faults:>7}{row.median_s:>9.2f}{row.median_worst_s:>11.2f}{row.median_while_it_lasted_s:>10.2f}{row.worst_s:>8.2f}"
            f"{(f'{max(row.until_whole):.1f}' if row.until_whole else '-'):>9}"
            for row in rows
        ),
    ]


def _violations(violations: Sequence[Violation]) -> list[str]:
    if not violations:
        return ["violations: none"]
    counts = Counter(each.kind for each in violations)
    lines = [f"violations: {len(violations)} ({_listed(counts)})"]
    for kind in counts:
        of_kind = [each for each in violations if each.kind is kind]
        lines += [f"  {each}" for each in of_kind[:SHOWN_OF_A_KIND]]
        if len(of_kind) > SHOWN_OF_A_KIND:
            lines.append(f"  ... and {len(of_kind) - SHOWN_OF_A_KIND} more of {kind}")
    return lines

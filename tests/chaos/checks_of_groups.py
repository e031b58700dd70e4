"""Committed offsets never go back, since members only ever commit what lies ahead, and readers are never sent away."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from history import Commit, Event, FinalCommit, Resumed, Trouble
from violations import Kind, Violation

Slot: TypeAlias = tuple[str, str, int]
REFUSALS = ("OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET", "_LOG_TRUNCATION")
"""Nothing is ever deleted in a run: to be told this, a log must have lost what a reader had been given."""


def _commits(history: Sequence[Event]) -> dict[Slot, list[Commit]]:
    found: dict[Slot, list[Commit]] = defaultdict(list)
    for each in history:
        if isinstance(each, Commit):
            found[each.group, each.topic, each.partition].append(each)
    for commits in found.values():
        commits.sort(key=lambda commit: commit.at)
    return found


def _named(slot: Slot) -> str:
    return f"{slot[0]} {slot[1]}-{slot[2]}"


def accepted_lower(history: Sequence[Event]) -> Iterator[Violation]:
    """A commit that began after another was acknowledged is not below it, or it came from a member that is no longer one."""
    for slot, commits in _commits(history).items():
        acked = [commit for commit in commits if not commit.error]
        highest: Commit | None = None
        pending = iter(acked)
        ahead = next(pending, None)
        for commit in sorted(acked, key=lambda each: each.begun):
            while ahead is not None and ahead.at < commit.begun:
                highest = ahead if highest is None or ahead.offset > highest.offset else highest
                ahead = next(pending, None)
            if highest is not None and commit.offset < highest.offset:
                evidence = f"{commit.member} committed {commit.offset} at {commit.begun}, {highest.member} {highest.offset} at {highest.at}"
                yield Violation(Kind.COMMIT_BACK, _named(slot), evidence)


def gone_back(history: Sequence[Event]) -> Iterator[Violation]:
    """Whoever asks where a group stands is told no less than what was committed before it asked."""
    commits = _commits(history)
    for each in history:
        if isinstance(each, Resumed):
            slot, asked, who = (each.group, each.topic, each.partition), each.begun, each.member
        elif isinstance(each, FinalCommit):
            slot, asked, who = (each.group, each.topic, each.partition), each.at, "the final look"
        else:
            continue
        before = [commit for commit in commits.get(slot, []) if not commit.error and commit.at < asked]
        highest = max(before, key=lambda commit: commit.offset, default=None)
        if highest is not None and each.offset < highest.offset:
            evidence = f"{who} was at {each.offset} at {asked}, {highest.member} had committed {highest.offset} at {highest.at}"
            yield Violation(Kind.COMMIT_BACK, _named(slot), evidence)


def reads_refused(history: Sequence[Event]) -> Iterator[Violation]:
    for each in history:
        if isinstance(each, Trouble) and each.error.split(":")[0] in REFUSALS:
            yield Violation(Kind.REFUSED, each.client, f"{each.error} {each.detail} at {each.at}")

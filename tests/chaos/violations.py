"""A promise that was broken: which, where, and what shows it."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    LOST = "lost"
    DUPLICATED = "duplicated"
    OUT_OF_ORDER = "out of order"
    VANISHED = "vanished"
    INVENTED = "invented"
    HOLE = "hole"
    UNREAD = "unread"
    DIVERGED = "replicas differ"
    EPOCH_BACK = "epoch gone back"
    TORN = "torn transaction"
    HANGING = "hanging transaction"
    FENCED = "fenced without a rival"
    COPY = "not exactly once"
    COMMIT_BACK = "commit gone back"
    REFUSED = "read refused"
    STUCK = "stuck"
    """Found by the harness, which sees what no client does: a process that did not stop, a replica that does not come back."""
    ENDED = "ended by itself"


@dataclass(frozen=True, slots=True)
class Violation:
    kind: Kind
    place: str
    """A topic's partition, a group, a client."""
    evidence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.evidence}"

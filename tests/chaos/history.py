"""What happened in a run, as its clients and the harness saw it: values, and the files of JSON lines that they are kept in.

All times are seconds of the machine's monotonic clock, which every process of a run shares. A record's key says who wrote it
and the how-manyeth it is (`KEY`), so that it can be told from every other; its value is padding.
"""

import dataclasses
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
EVERYTHING, COMMITTED_ONLY = "read_uncommitted", "read_committed"


@dataclass(frozen=True, slots=True)
class Sent:
    """A record was given to its producer, in this order for one partition."""

    producer: str
    topic: str
    partition: int
    key: str
    at: float


@dataclass(frozen=True, slots=True)
class Acked:
    producer: str
    topic: str
    partition: int
    key: str
    offset: int | None
    """None where the producer was told of a later record only, which takes the sequence to be there up to it."""
    at: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The producer gave up on a record: it may be in the log or not."""

    producer: str
    topic: str
    partition: int
    key: str
    error: str
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction came to its end, as its producer was told: `UNKNOWN` when it was told nothing definite."""

    producer: str
    number: int
    outcome: str
    topic: str
    keys: Sequence[str]
    begun: float
    at: float


@dataclass(frozen=True, slots=True)
class Read:
    """A reader was given these records, in this order."""

    reader: str
    isolation: str
    topic: str
    partition: int
    offsets: Sequence[int]
    keys: Sequence[str]
    at: float


@dataclass(frozen=True, slots=True)
class Commit:
    """A group's offset was committed, or the attempt failed (`error`): then it may have taken effect or not."""

    group: str
    member: str
    topic: str
    partition: int
    offset: int
    begun: float
    at: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A member was given a partition after `begun`, and this is the offset at which it went on."""

    group: str
    member: str
    topic: str
    partition: int
    offset: int
    begun: float
    at: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """A client was told an error that it could not go on with."""

    client: str
    error: str
    fatal: bool
    at: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault began at one node; its number joins it with `Healed` and `Whole`."""

    number: int
    family: str
    victim: str
    detail: str
    at: float
    extent: str = ""
    """What tells it from others of its family."""


@dataclass(frozen=True, slots=True)
class Healed:
    """The harness took the fault away."""

    number: int
    at: float


@dataclass(frozen=True, slots=True)
class Whole:
    """All nodes were ready and every replica in sync again; `problem` says what was not, when the wait ran out."""

    number: int
    at: float
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Final:
    """One partition as it is read from its start to its end when everything is over."""

    isolation: str
    topic: str
    partition: int
    offsets: Sequence[int]
    keys: Sequence[str]
    end: int
    """Where it ends for this isolation: the high watermark or the last stable offset."""


@dataclass(frozen=True, slots=True)
class FinalCommit:
    """Where a group's offset stands when everything is over: -1 for none."""

    group: str
    topic: str
    partition: int
    offset: int
    at: float


@dataclass(frozen=True, slots=True)
class Stored:
    """One replica's log as it lies on its disk after the last clean stop; for what a batch is see `replica_logs.py`."""

    replica: str
    topic: str
    partition: int
    batches: Sequence[Sequence[int]]


Event: TypeAlias = (
    Sent
    | Acked
    | Failed
    | Ended
    | Read
    | Commit
    | Resumed
    | Trouble
    | Struck
    | Healed
    | Whole
    | Final
    | FinalCommit
    | Stored
)
_EVENTS = {
    each.__name__: each
    for each in (
        Sent,
        Acked,
        Failed,
        Ended,
        Read,
        Commit,
        Resumed,
        Trouble,
        Struck,
        Healed,
        Whole,
        Final,
        FinalCommit,
        Stored,
    )
}


class HistoryFile:
    """Lines are whole and in order whoever writes them; what was noted is there although the process is killed."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def note(self, *events: Event) -> None:
        lines = "".join(json.dumps({"event": type(event).__name__, **_fields(event)}) + "\n" for event in events)
        with self._lock:
            self._file.write(lines)

    def close(self) -> None:
        self._file.close()


def now() -> float:
    return round(time.monotonic(), 4)


def read_history(path: Path) -> Iterator[Event]:
    """What one file says; a last line that was cut off by a kill is left out."""
    with path.open() as lines:
        for line in lines:
            if not line.endswith("\n"):
                return
            fields = json.loads(line)
            yield _EVENTS[fields.pop("event")](**fields)


def _fields(event: Event) -> dict[str, object]:
    return {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}

"""What follows from an event for who keeps a partition's log and its clients.

LogGrew and Committed are made for every append; as frozen dataclasses they would cost more than the rest of the step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from mypy_extensions import i64, mypyc_attr

from millstream_broker.core.partition.commit_waits import CommitWait
from millstream_wire.errors import ErrorCode


@mypyc_attr(acyclic=True, free_list_len=1)
class LogGrew:
    """The log reaches up to `end_offset`, `size` bytes further than before: followers may have that."""

    __slots__ = ("end_offset", "size")

    def __init__(self, end_offset: i64, size: i64) -> None:
        self.end_offset = end_offset
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogGrew) and (self.end_offset, self.size) == (other.end_offset, other.size)

    def __repr__(self) -> str:
        return f"LogGrew({self.end_offset}, size={self.size})"


@mypyc_attr(acyclic=True, free_list_len=1)
class Committed:
    """Everything before `high_watermark` is committed, and before `last_stable_offset` decided as well.

    The sizes are how many bytes each of the two moved, or more than that: who waits for bytes looks again.
    """

    __slots__ = ("high_watermark", "last_stable_offset", "size", "stable_size")

    def __init__(self, high_watermark: i64, last_stable_offset: i64, size: i64, stable_size: i64) -> None:
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.size = size
        self.stable_size = stable_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Committed) and repr(self) == repr(other)

    def __repr__(self) -> str:
        return (
            f"Committed({self.high_watermark}, {self.last_stable_offset}, size={self.size},"
            f" stable_size={self.stable_size})"
        )


@dataclass(frozen=True, slots=True)
class CommitWaitsEnded:
    """Answer those who waited for a commit: NONE if what they wait for is committed, or why they cannot know."""

    waits: Sequence[CommitWait]
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class LeadershipBegan:
    """From here on appends carry this epoch; `start_offset` is where it begins."""

    leader_epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class LeadershipEnded:
    """Whoever waits for this partition must ask the next leader."""


class IsrMember(NamedTuple):
    node_id: int
    broker_epoch: int
    """In which life it fetched; -1 if it has not in this leader epoch, or if it is the leader itself."""


@dataclass(frozen=True, slots=True)
class ProposeIsr:
    """Ask the controller for this ISR. What comes of it, or that nothing did, is told with this very value."""

    isr: tuple[IsrMember, ...]
    leader_epoch: int
    partition_epoch: int
    """The state that it is to follow: the controller refuses it for any other."""
    resigns: bool = False
    """Rather than this ISR, ask for another leader out of it: this one's log refuses appends."""


@dataclass(frozen=True, slots=True)
class LogStartsMoved:
    """Followers' logs begin later than before: who deletes records may have waited for that."""


Effect: TypeAlias = (
    LogGrew | Committed | CommitWaitsEnded | LeadershipBegan | LeadershipEnded | ProposeIsr | LogStartsMoved
)

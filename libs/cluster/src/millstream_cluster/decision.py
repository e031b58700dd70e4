"""The result of every `decide(command, now)`: facts to append, and the reply once they are committed.

A decision only looks at the machine. What it wants changed it says: in records, which the log keeps, and in changes of what
the machine keeps in memory only (who was heard when, who waits).
"""

from typing import Any, Generic, Protocol, TypeVar

from millstream_wire.late_dataclass import dataclass

R = TypeVar("R")
T = TypeVar("T")


class Change(Protocol):
    """A change, as a value, of what a machine keeps in memory only; another owner of the state begins without it."""

    def make(self, machine: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Decision(Generic[R, T]):
    """Records to append (perhaps none), the reply to give once all that the command saw is committed, and the changes in memory.

    These are made right after the records were applied, so that the next command sees them: that it is taken before the
    records are committed is as harmless as for the records, since a failed append ends the whole machine.
    """

    records: tuple[R, ...]
    reply: T
    then: tuple[Change, ...] = ()

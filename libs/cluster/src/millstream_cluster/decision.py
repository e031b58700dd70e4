"""The result of every `decide(command, now)`: facts to append, and the reply once they are committed."""

from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision(Generic[R, T]):
    """Records to append (perhaps none) and the reply to give once all that the command saw is committed."""

    records: tuple[R, ...]
    reply: T

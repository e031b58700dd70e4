"""What may happen to three replicas of a partition and their controller."""

from dataclasses import dataclass

from millstream_simulation.explorer.connections import Carried
from millstream_simulation.explorer.replica import NOBODY


@dataclass(frozen=True, slots=True)
class Appends:
    """A producer with acks=all writes a record to whoever says that it leads."""

    node: int


@dataclass(frozen=True, slots=True)
class Fetches:
    """A follower asks its leader; the answer may be lost, or late."""

    node: int


@dataclass(frozen=True, slots=True)
class Follows:
    """A follower asks its leader and is answered at once."""

    node: int


@dataclass(frozen=True, slots=True)
class Learns:
    """A broker hears of the next change of the metadata."""

    node: int


@dataclass(frozen=True, slots=True)
class LosesPatience:
    """A leader has everybody who lacks something leave the ISR."""

    node: int


@dataclass(frozen=True, slots=True)
class IsFenced:
    """The controller has not heard of a broker for too long; if it led, it elects `leader`, or nobody."""

    node: int
    leader: int = NOBODY


@dataclass(frozen=True, slots=True)
class IsUnfenced:
    node: int


@dataclass(frozen=True, slots=True)
class LosesPower:
    """A broker starts again with the first records of its log, and registers without a proof of a clean stop."""

    node: int
    kept: int
    leader: int = NOBODY


@dataclass(frozen=True, slots=True)
class DiskFills:
    """What a follower copies is refused by its disk."""

    node: int


@dataclass(frozen=True, slots=True)
class DiskHasRoom:
    node: int


Event = (
    Appends
    | Fetches
    | Follows
    | Learns
    | LosesPatience
    | IsFenced
    | IsUnfenced
    | LosesPower
    | DiskFills
    | DiskHasRoom
    | Carried
)

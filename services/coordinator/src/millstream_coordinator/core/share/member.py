"""What is known of one member of a share group: what it asks for, and what it reads."""

from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    """What the member said of itself."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """Subscribed topics by name, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCurrent:
    """What the member was told to read. Nobody has to give anything up before another gets it, so this is its target."""

    epoch: int = 0
    """The assignment epoch of what the member was told last; never past the group's."""
    previous_epoch: int = -1
    """Accepted from a member that did not get the last answer."""
    assigned: Partitions = NO_PARTITIONS


NOTHING = ShareCurrent()

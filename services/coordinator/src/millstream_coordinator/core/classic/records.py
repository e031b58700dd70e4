"""The facts of which a classic group is made: it is stored whole, whenever it comes to rest."""

from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GroupStored:
    group: StoredGroup


@dataclass(frozen=True, slots=True)
class GroupRemoved:
    group_id: str


ClassicRecord = GroupStored | GroupRemoved

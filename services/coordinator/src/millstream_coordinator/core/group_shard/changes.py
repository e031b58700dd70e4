"""Changes of the classic groups that a shard has in memory, as decisions ask for them."""

from millstream_coordinator.core.classic.group import ClassicGroup
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ClassicBegun:
    """Change: the members of a consumer group go on as this classic group, which nothing else refers to yet."""

    group: ClassicGroup

    def make(self, shard: GroupShard) -> None:
        shard.groups[self.group.group_id] = self.group


@dataclass(frozen=True, slots=True)
class ClassicDismissed:
    """Change: a classic group, if there is one, has ended; who waits in it has to ask again."""

    group_id: str

    def make(self, shard: GroupShard) -> None:
        shard.dismiss_classic(self.group_id)


@dataclass(frozen=True, slots=True)
class ClassicEntered:
    """Change: there is a classic group of this id from now on, if there was none."""

    group_id: str
    now_ms: int

    def make(self, shard: GroupShard) -> None:
        shard.enter(self.group_id, self.now_ms)


@dataclass(frozen=True, slots=True)
class ClassicHeard:
    """Change: the member of a classic group, if it is one, did something that shows that it lives."""

    group_id: str
    member_id: str
    now_ms: int

    def make(self, shard: GroupShard) -> None:
        group = shard.groups.get(self.group_id)
        if group is not None and self.member_id in group.members:
            group.hear_from(group.members[self.member_id], self.now_ms)

"""What is known of one member of a consumer group: what it asks for, and what it has."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum

from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition
from millstream_wire.late_dataclass import dataclass


class MemberState(IntEnum):
    """The values are what the log has."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has to give up partitions before it can go on to the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It is at the target's epoch and waits for partitions that others have not given up yet."""


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """What a member that speaks the classic protocol said beside the rest."""

    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """What the member said of itself."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """Subscribed topics by name, sorted."""
    regex: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMember | None = None
    """None for a member that speaks this protocol."""

    @property
    def subscription(self) -> tuple[tuple[str, ...], str | None]:
        return self.topics, self.regex


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAssignment:
    """What the member has: `assigned` it may read, `revoking` it has to give up; both are its own until then."""

    epoch: int = 0
    """The member epoch: the assignment epoch that the member has come to. It stays while there is something to give up."""
    previous_epoch: int = -1
    """Accepted from a member that did not get the last answer."""
    state: MemberState = MemberState.STABLE
    assigned: Mapping[TopicIdPartition, int] = field(default_factory=dict)
    """Each partition with the epoch in which the member got it: commits of that epoch and later ones are good (KIP-1251)."""
    revoking: Mapping[TopicIdPartition, int] = field(default_factory=dict)

    @property
    def owned(self) -> Partitions:
        return frozenset(self.assigned) | frozenset(self.revoking)


NOTHING = CurrentAssignment()

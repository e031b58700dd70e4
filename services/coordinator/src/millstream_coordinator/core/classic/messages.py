"""What a classic group is told and what it says, free of wire versions.

Requests that may wait carry a ticket; every ticket gets exactly one Answer.
"""

from collections.abc import Callable
from dataclasses import field
from typing import NewType

from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

Ticket = NewType("Ticket", int)
"""Names a request that waits for its answer; the shell hands them out and never reuses one."""

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    ticket: Ticket
    member_id: str = ""
    new_member_id: str
    """The id that a member without one gets."""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    requires_known_member_id: bool = True
    """KIP-394: a new dynamic member first gets its id and joins again with it."""
    supports_skipping_assignment: bool = True
    """KIP-814: a returning static leader may learn that it leads without having to assign again."""
    may_see: Callable[[str], bool] | None = field(default=None, compare=False)
    """Which topics regular expressions of its group may match on its account, in a group whose others have such; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    ticket: Ticket
    member_id: str
    generation: int
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()
    """The leader's work: member id and assignment."""


@dataclass(frozen=True, slots=True)
class LeavingMember:
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinedMember:
    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinAnswer:
    error: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncAnswer:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class LeftMember:
    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class Answer:
    """Effect: answer the request of this ticket."""

    ticket: Ticket
    answer: JoinAnswer | SyncAnswer


@dataclass(frozen=True, slots=True)
class GenerationAssigned:
    """The leader's assignment is stored: everyone may have theirs."""

    generation: int
    assignments: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class StaticMemberReplaced:
    """A static member's new id is stored: it may be told so."""

    member_id: str
    ticket: Ticket
    answer: JoinAnswer


@dataclass(frozen=True, slots=True)
class GroupEmptied:
    """That nobody is left is stored; nobody waits for it."""


StoredEvent = GenerationAssigned | StaticMemberReplaced | GroupEmptied


@dataclass(frozen=True, slots=True)
class StoreGroup:
    """Effect: write the group to the log, then tell the group `event` (or that it was refused)."""

    group: StoredGroup
    event: StoredEvent


Effect = Answer | StoreGroup

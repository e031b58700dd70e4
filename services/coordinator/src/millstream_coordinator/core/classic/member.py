"""One member of a classic group: what it said when it joined, and what it waits for."""

from millstream_coordinator.core.classic.messages import JoinRequest, Ticket
from millstream_coordinator.core.classic.stored_group import StoredMember
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_wire.late_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class Member:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    """It waits for its first join to be answered: it does not heartbeat yet."""
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None
    deadline_ms: int = 0
    """When the member is taken for gone, unless it is heard of before."""

    @staticmethod
    def joining(member_id: str, request: JoinRequest) -> "Member":
        return Member(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            is_new=True,
        )

    @staticmethod
    def loaded(stored: StoredMember, protocol: str) -> "Member":
        return Member(
            member_id=stored.member_id,
            group_instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            session_timeout_ms=stored.session_timeout_ms,
            protocols=(MemberProtocol(protocol, stored.subscription),),
            assignment=stored.assignment,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def awaits_answer(self) -> bool:
        return self.join_ticket is not None or self.sync_ticket is not None

    def metadata(self, protocol: str | None) -> bytes:
        return next((offered.metadata for offered in self.protocols if offered.name == protocol), b"")

    def stored(self, protocol: str | None, assignment: bytes) -> StoredMember:
        return StoredMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata(protocol),
            assignment=assignment,
        )

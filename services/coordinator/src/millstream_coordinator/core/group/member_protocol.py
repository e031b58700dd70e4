"""What members that assign among themselves offer each other."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MemberProtocol:
    """A way to assign partitions that a member offers; what the metadata means is the clients' affair."""

    name: str
    metadata: bytes

"""Records of ACLs."""

from uuid import UUID

from millstream_cluster.acls import Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AclAdded:
    """In the log the numbers are words: `"resource": "TOPIC"`."""

    acl_id: UUID
    resource: AclResource
    pattern: AclPattern
    name: str
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission

    @staticmethod
    def of(acl_id: UUID, acl: Acl) -> "AclAdded":
        return AclAdded(
            acl_id, acl.resource, acl.pattern, acl.name, acl.principal, acl.host, acl.operation, acl.permission
        )

    @property
    def acl(self) -> Acl:
        return Acl(self.resource, self.pattern, self.name, self.principal, self.host, self.operation, self.permission)


@dataclass(frozen=True, slots=True)
class AclRemoved:
    acl_id: UUID

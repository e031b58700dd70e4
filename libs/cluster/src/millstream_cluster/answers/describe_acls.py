"""DescribeAcls (API key 29), versions 1 to 3, from an Image; and the filters that DeleteAcls (31) has as well."""

from collections.abc import Iterable, Iterator

from millstream_cluster.acls import (
    ANY,
    MATCH,
    WILDCARD,
    Acl,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from millstream_cluster.image import Image
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import DescribeAclsRequest, DescribeAclsResponse
from millstream_wire.messages.delete_acls import DeleteAclsFilter
from millstream_wire.messages.describe_acls import AclDescription, DescribeAclsResource

NOT_AUTHORIZED = "Not authorized to access the cluster."
_PATTERNS = (ANY, MATCH, *AclPattern)


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Each part names one value, or is ANY, or None, for all of them."""

    resource: int
    pattern: int
    name: str | None
    principal: str | None
    host: str | None
    operation: int
    permission: int

    @staticmethod
    def of(asked: DescribeAclsRequest | DeleteAclsFilter) -> "AclFilter":
        return AclFilter(
            asked.resource_type_filter,
            asked.pattern_type_filter,
            asked.resource_name_filter,
            asked.principal_filter,
            asked.host_filter,
            asked.operation,
            asked.permission_type,
        )

    def flaw(self) -> str | None:
        """What of it is no value that there is."""
        for what, value, known in (
            ("ResourceType", self.resource, (ANY, *AclResource)),
            ("PatternType", self.pattern, _PATTERNS),
            ("AclOperation", self.operation, (ANY, *AclOperation)),
            ("AclPermissionType", self.permission, (ANY, *AclPermission)),
        ):
            if value not in known:
                return f"The filter has an unknown {what}: {value}"
        return None

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource in (ANY, acl.resource)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self._names(acl)
        )

    def _names(self, acl: Acl) -> bool:
        if self.pattern not in (ANY, MATCH, acl.pattern):
            return False
        if self.name is None or self.name == acl.name:
            return True
        if self.pattern != MATCH:
            return False
        return self.name.startswith(acl.name) if acl.pattern is AclPattern.PREFIXED else acl.name == WILDCARD


def describe_acls(image: Image, request: DescribeAclsRequest) -> DescribeAclsResponse:
    wanted = AclFilter.of(request)
    flaw = wanted.flaw()
    if flaw is not None:
        return DescribeAclsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=flaw)
    return DescribeAclsResponse(
        error_message="", resources=list(_by_resource(acl for acl in image.acls.ids if wanted.matches(acl)))
    )


def _by_resource(acls: Iterable[Acl]) -> Iterator[DescribeAclsResource]:
    found: dict[tuple[AclResource, AclPattern, str], list[AclDescription]] = {}
    for acl in acls:
        found.setdefault((acl.resource, acl.pattern, acl.name), []).append(
            AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
        )
    for (resource, pattern, name), described in found.items():
        yield DescribeAclsResource(resource_type=resource, resource_name=name, pattern_type=pattern, acls=described)

"""ACLs as the messages that ask for them carry them: for whoever is a client of the admin protocol."""

from collections.abc import Iterable, Iterator

from millstream_cluster.acls import Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire.messages.create_acls import AclCreation
from millstream_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsMatchingAcl
from millstream_wire.messages.describe_acls import DescribeAclsResource


def creation_of(acl: Acl) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource,
        resource_name=acl.name,
        resource_pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def filter_for(acl: Acl) -> DeleteAclsFilter:
    """What matches this one and no other."""
    return DeleteAclsFilter(
        resource_type_filter=acl.resource,
        resource_name_filter=acl.name,
        pattern_type_filter=acl.pattern,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def described_acls(resources: Iterable[DescribeAclsResource]) -> Iterator[Acl]:
    for resource in resources:
        kind, pattern = AclResource(resource.resource_type), AclPattern(resource.pattern_type)
        for each in resource.acls:
            operation, permission = AclOperation(each.operation), AclPermission(each.permission_type)
            yield Acl(kind, pattern, resource.resource_name, each.principal, each.host, operation, permission)


def matching_acl(found: DeleteAclsMatchingAcl) -> Acl:
    """One that was deleted."""
    return Acl(
        AclResource(found.resource_type),
        AclPattern(found.pattern_type),
        found.resource_name,
        found.principal,
        found.host,
        AclOperation(found.operation),
        AclPermission(found.permission_type),
    )

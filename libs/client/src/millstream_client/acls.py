"""ACLs: who may do what, listed, made and deleted by filters in which None stands for anything."""

from collections.abc import Sequence
from typing import Any

from millstream_client.cluster import Cluster
from millstream_client.errors import check
from millstream_cluster.acl_messages import creation_of, described_acls, matching_acl
from millstream_cluster.acls import ANY, Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.create_acls import CreateAclsRequest
from millstream_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from millstream_wire.messages.describe_acls import DescribeAclsRequest


@dataclass(frozen=True, slots=True)
class AclFilter:
    resource: AclResource | None = None
    name: str | None = None
    pattern: AclPattern | None = None
    principal: str | None = None
    host: str | None = None
    operation: AclOperation | None = None
    permission: AclPermission | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """As both requests call them."""
        return {
            "resource_type_filter": self.resource or ANY,
            "resource_name_filter": self.name,
            "pattern_type_filter": self.pattern or ANY,
            "principal_filter": self.principal,
            "host_filter": self.host,
            "operation": self.operation or ANY,
            "permission_type": self.permission or ANY,
        }


async def list_acls(cluster: Cluster, wanted: AclFilter) -> list[Acl]:
    answer = await cluster.ask_any(DescribeAclsRequest(**wanted.fields))
    check(answer.error_code, answer.error_message, subject="ACLs")
    return sorted(
        described_acls(answer.resources),
        key=lambda acl: (acl.resource, acl.name, acl.principal, acl.operation, acl.permission, acl.host),
    )


async def create_acls(cluster: Cluster, acls: Sequence[Acl]) -> None:
    answer = await cluster.ask_any(CreateAclsRequest(creations=[creation_of(each) for each in acls]))
    for each in answer.results:
        check(each.error_code, each.error_message, subject="ACLs")


async def delete_acls(cluster: Cluster, wanted: AclFilter) -> list[Acl]:
    """Those that are gone."""
    answer = await cluster.ask_any(DeleteAclsRequest(filters=[DeleteAclsFilter(**wanted.fields)]))
    result = answer.filter_results[0]
    check(result.error_code, result.error_message, subject="ACLs")
    for each in result.matching_acls:
        check(each.error_code, each.error_message, subject="ACLs")
    return [matching_acl(each) for each in result.matching_acls]

"""DeleteAcls (31), versions 1 to 3."""

from millstream_cluster.acls import Acl, AclOperation
from millstream_cluster.answers.describe_acls import AclFilter
from millstream_cluster.answers.no_security import refuse_security
from millstream_controller.core.acls import Removed, delete_acls
from millstream_controller.core.refusal import Outcome
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteAclsRequest, DeleteAclsResponse
from millstream_wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl


async def handle_delete_acls(
    controller: Controller, request: DeleteAclsRequest, context: RequestContext
) -> DeleteAclsResponse:
    if context.connection.authorizer is None:
        return refuse_security(request, context.version)
    filters = [AclFilter.of(asked) for asked in request.filters]
    try:
        refused = refuse_all(request, context, AclOperation.ALTER)
        if refused is not None:
            return refused
        answers = await controller.active.execute(lambda machine: delete_acls(machine, filters))
    except NotActive:
        answers = (Removed(Outcome(ErrorCode.NOT_CONTROLLER)),) * len(filters)
    return DeleteAclsResponse(filter_results=[_result(each) for each in answers])


def _result(removed: Removed) -> DeleteAclsFilterResult:
    outcome = removed.outcome
    return DeleteAclsFilterResult(
        error_code=outcome.error,
        error_message=outcome.message or "",
        matching_acls=[_matching(acl) for acl in removed.acls],
    )


def _matching(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message="",
        resource_type=acl.resource,
        resource_name=acl.name,
        pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )

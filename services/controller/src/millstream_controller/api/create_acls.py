"""CreateAcls (30), versions 1 to 3."""

from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.no_security import refuse_security
from millstream_controller.core.acls import NewAcl, create_acls
from millstream_controller.core.refusal import Outcome
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateAclsRequest, CreateAclsResponse
from millstream_wire.messages.create_acls import AclCreation, AclCreationResult


async def handle_create_acls(
    controller: Controller, request: CreateAclsRequest, context: RequestContext
) -> CreateAclsResponse:
    if context.connection.authorizer is None:
        return refuse_security(request, context.version)
    wanted = [_new_acl(creation) for creation in request.creations]
    try:
        refused = refuse_all(request, context, AclOperation.ALTER)
        if refused is not None:
            return refused
        outcomes = await controller.active.execute(
            lambda machine: create_acls(machine, wanted, new_id=controller.new_id)
        )
    except NotActive:
        outcomes = (Outcome(ErrorCode.NOT_CONTROLLER),) * len(wanted)
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=each.error, error_message=each.message or "") for each in outcomes]
    )


def _new_acl(asked: AclCreation) -> NewAcl:
    return NewAcl(
        asked.resource_type,
        asked.resource_pattern_type,
        asked.resource_name,
        asked.principal,
        asked.host,
        asked.operation,
        asked.permission_type,
    )

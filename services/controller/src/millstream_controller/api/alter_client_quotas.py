"""AlterClientQuotas (49), versions 0 and 1. Left out: names of hosts, of which every node would think its own; an ip is an address."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.client_quotas import QuotaChange, alter_client_quotas, entity_of
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterClientQuotasRequest, AlterClientQuotasResponse
from millstream_wire.messages.alter_client_quotas import EntityData, ResponseEntryData


async def handle_alter_client_quotas(
    controller: Controller, request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse:
    wanted = [
        (
            entity_of([(part.entity_type, part.entity_name) for part in entry.entity]),
            tuple(QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops),
        )
        for entry in request.entries
    ]
    try:
        denied = refuse_all(request, context, AclOperation.ALTER_CONFIGS)
        if denied is not None:
            return denied
        answers = await controller.active.execute(
            lambda machine: alter_client_quotas(machine, wanted, validate_only=request.validate_only)
        )
    except NotActive as reason:
        return error_response(request, context.version, ErrorCode.NOT_CONTROLLER, str(reason))
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                error_code=outcome.error,
                error_message=outcome.message,
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            )
            for entity, outcome in answers.items()
        ]
    )

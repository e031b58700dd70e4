"""UnregisterBroker (64), version 0."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.nodes.nodes import unregister
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import UnregisterBrokerRequest, UnregisterBrokerResponse


async def handle_unregister_broker(
    controller: Controller, request: UnregisterBrokerRequest, context: RequestContext
) -> UnregisterBrokerResponse:
    try:
        refused = refuse_all(request, context, AclOperation.ALTER)
        if refused is not None:
            return refused
        outcome = await controller.active.execute(lambda machine: unregister(machine, request.broker_id))
    except NotActive:
        return UnregisterBrokerResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return UnregisterBrokerResponse(error_code=outcome.error, error_message=outcome.message)

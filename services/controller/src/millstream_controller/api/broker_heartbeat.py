"""BrokerHeartbeat (63), versions 0 to 2, from brokers and coordinators. Left out: cordoned log directories, which are a dynamic config."""

import logging

from millstream_cluster.acls import AclOperation
from millstream_controller.core.nodes.nodes import Heartbeat, heartbeat
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse

logger = logging.getLogger(__name__)


async def handle_broker_heartbeat(
    controller: Controller, request: BrokerHeartbeatRequest, context: RequestContext
) -> BrokerHeartbeatResponse:
    beat = Heartbeat(
        request.broker_id,
        request.broker_epoch,
        request.current_metadata_offset,
        request.want_fence,
        request.want_shut_down,
        tuple(request.offline_log_dirs),
    )
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        active = controller.active
        active.heard(
            request.broker_id, request.broker_epoch, context.connection, replaceable=request.replaceable_log_dirs
        )
        answer = await active.execute(lambda machine: heartbeat(machine, beat))
        if answer.log_went_back:
            await active.doubt(answer.outcome.message or "")
        if request.want_shut_down and not answer.fenced:
            await active.until_followed()  # else the clients that it lets go of next are sent back to it
    except NotActive:
        return BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return BrokerHeartbeatResponse(
        error_code=answer.outcome.error,
        is_caught_up=answer.caught_up,
        is_fenced=answer.fenced,
        should_shut_down=answer.should_shut_down,
    )

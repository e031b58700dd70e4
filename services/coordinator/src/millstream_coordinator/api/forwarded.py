"""What belongs to the controller: CreateTopics (19), DeleteTopics (20), AlterConfigs (33), CreatePartitions (37),
ElectLeaders (43), AlterPartitionReassignments (45), AlterClientQuotas (49), DescribeQuorum (55),
UpdateFeatures (57), UnregisterBroker (64), in every version.

The client's frame goes to the active controller unchanged, in an envelope that says whose it is, and the answer comes back.
"""

from typing import TypeVar

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.nodes.client import ClientError, ForwardingRefused
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


async def handle_forwarded(coordinator: Coordinator, request: Request[R], context: RequestContext) -> RawReply | R:
    try:
        return await coordinator.controllers.forward(context, timeout_ms=coordinator.config.request_timeout_ms)
    except ForwardingRefused as refused:
        return error_response(request, context.version, refused.code, str(refused))
    except ClientError as error:
        # Perhaps it was executed: the client has to look, as after any timeout.
        return error_response(
            request, context.version, ErrorCode.REQUEST_TIMED_OUT, f"No answer from the controller: {error}"
        )

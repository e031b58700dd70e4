"""Produce (0), versions 0 to 13, refused: a coordinator keeps no partitions.

It is offered because Kafka's older producers (2.1 is one) take every node they ever asked for one that records could be sent to,
and stop for good at the first that does not offer it: their transactions' coordinator.
"""

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import CloseConnection, RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse


def handle_produce(coordinator: Coordinator, request: ProduceRequest, context: RequestContext) -> ProduceResponse:
    if request.acks == 0:
        raise CloseConnection("a produce with acks=0 came to a coordinator")
    return error_response(
        request, context.version, ErrorCode.NOT_LEADER_OR_FOLLOWER, "a coordinator keeps no partitions"
    )

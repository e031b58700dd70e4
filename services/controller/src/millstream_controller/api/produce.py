"""Produce (0), versions 0 to 13, refused: nobody but the active controller writes the metadata log.

It is offered because librdkafka (kcat and much else) fetches in today's format only from nodes that offer Produce too.
"""

from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse


def handle_produce(controller: Controller, request: ProduceRequest, context: RequestContext) -> ProduceResponse | None:
    if request.acks == 0:
        return None
    return error_response(request, context.version, ErrorCode.INVALID_TOPIC_EXCEPTION, "a controller takes no records")

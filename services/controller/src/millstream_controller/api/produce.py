"""Produce (0), versions 0 to 13, refused: nobody but the active controller writes the metadata log.

It is offered because librdkafka (kcat and much else) fetches in today's format only from nodes that offer Produce too.
"""

from millstream_controller.shell.controller import Controller
from millstream_runtime.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse


def handle_produce(controller: Controller, request: ProduceRequest, context: RequestContext) -> ProduceResponse | None:
    if request.acks == 0:
        return None
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=partition.index,
                        error_code=ErrorCode.INVALID_TOPIC_EXCEPTION,
                        base_offset=-1,
                        error_message="a controller takes no records",
                    )
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )

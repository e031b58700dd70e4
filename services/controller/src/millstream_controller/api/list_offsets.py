"""ListOffsets (2), versions 1 to 11, of the metadata log alone: its start and its end. Left out: offsets by time."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import METADATA_TOPIC
from millstream_controller.shell.active import Active
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListOffsetsRequest, ListOffsetsResponse
from millstream_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
)

EARLIEST = (-2, -4)
LATEST = (-1, -5)


def handle_list_offsets(
    controller: Controller, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponse:
    active = controller.find_believed()
    if active is not None and not context.may(AclOperation.DESCRIBE, AclResource.TOPIC, METADATA_TOPIC):
        context.denied(AclOperation.DESCRIBE, AclResource.TOPIC, METADATA_TOPIC)
        return error_response(request, context.version, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=[_answer(active, topic.name, each) for each in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _answer(active: Active | None, topic: str, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    if topic != METADATA_TOPIC or wanted.partition_index != 0:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif active is None:
        answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    elif wanted.timestamp in EARLIEST or wanted.timestamp in LATEST:
        answer.offset = active.log.start_offset if wanted.timestamp in EARLIEST else active.log.end_offset
        answer.leader_epoch = active.epoch
    else:
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
    return answer

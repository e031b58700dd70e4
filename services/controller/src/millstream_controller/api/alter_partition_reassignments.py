"""AlterPartitionReassignments (45), versions 0 and 1: the factor may change unless a client of version 1 forbids it (KIP-860)."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.partitions.reassignments import Move, alter_reassignments
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
from millstream_wire.messages.alter_partition_reassignments import (
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle_alter_partition_reassignments(
    controller: Controller, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    if request.timeout_ms <= 0 and request.topics:
        return error_response(request, context.version, ErrorCode.REQUEST_TIMED_OUT)
    moves = [_move(topic.name, partition) for topic in request.topics for partition in topic.partitions]
    may_change_factor = request.allow_replication_factor_change
    try:
        denied = refuse_all(request, context, AclOperation.ALTER)
        if denied is not None:
            return denied
        outcomes = await controller.active.execute(
            lambda machine: alter_reassignments(machine, moves, may_change_factor=may_change_factor)
        )
    except NotActive as reason:
        return error_response(request, context.version, ErrorCode.NOT_CONTROLLER, str(reason))
    if not request.topics:
        return AlterPartitionReassignmentsResponse(error_message="")
    told = iter(outcomes)
    responses = []
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            outcome = next(told)
            answers.append(
                ReassignablePartitionResponse(
                    partition_index=partition.partition_index, error_code=outcome.error, error_message=outcome.message
                )
            )
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=answers))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change, responses=responses
    )


def _move(topic: str, partition: ReassignablePartition) -> Move:
    replicas = None if partition.replicas is None else tuple(partition.replicas)
    return Move(topic, partition.partition_index, replicas)

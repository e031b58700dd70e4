"""AssignReplicasToDirs (73), version 0, from brokers. Left out: every directory but "lost", since a broker has one."""

import logging
from uuid import UUID

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import LOST_DIRECTORY
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from millstream_wire.messages.assign_replicas_to_dirs import (
    RequestTopicData,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)

logger = logging.getLogger(__name__)


async def handle_assign_replicas_to_dirs(
    controller: Controller, request: AssignReplicasToDirsRequest, context: RequestContext
) -> AssignReplicasToDirsResponse:
    lost = [
        (topic.topic_id, each.partition_index)
        for directory in request.directories
        if directory.id == LOST_DIRECTORY
        for topic in directory.topics
        for each in topic.partitions
    ]
    loss = Loss(request.broker_id, request.broker_epoch, tuple(lost))
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        told = await controller.active.execute(lambda machine: lose_replicas(machine, loss))
    except NotActive:
        return AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER)
    if told.outcome.error is not ErrorCode.NONE:
        return AssignReplicasToDirsResponse(error_code=told.outcome.error)
    if told.lost:
        logger.error("broker lost partitions node=%d count=%d", request.broker_id, told.lost)
    return AssignReplicasToDirsResponse(directories=[_answer(each.id, each.topics) for each in request.directories])


def _answer(directory: UUID, topics: list[RequestTopicData]) -> ResponseDirectoryData:
    return ResponseDirectoryData(
        id=directory,
        topics=[
            ResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[ResponsePartitionData(partition_index=each.partition_index) for each in topic.partitions],
            )
            for topic in topics
        ],
    )

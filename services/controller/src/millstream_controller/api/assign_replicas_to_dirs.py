"""AssignReplicasToDirs (73), version 0, from brokers. What is in the directory "lost" is gone, and leaves ISR and ELR."""

import logging
from collections.abc import Mapping
from uuid import UUID

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import LOST_DIRECTORY
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.core.partitions.whereabouts import Whereabouts, note_whereabouts
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
    places = {
        (topic.topic_id, each.partition_index): directory.id
        for directory in request.directories
        for topic in directory.topics
        for each in topic.partitions
    }
    lost = tuple(key for key, directory in places.items() if directory == LOST_DIRECTORY)
    kept = {key: directory for key, directory in places.items() if directory != LOST_DIRECTORY}
    loss = Loss(request.broker_id, request.broker_epoch, lost)
    whereabouts = Whereabouts(request.broker_id, request.broker_epoch, kept)
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        told = await controller.active.execute(lambda machine: lose_replicas(machine, loss))
        noted = await controller.active.execute(lambda machine: note_whereabouts(machine, whereabouts))
    except NotActive:
        return AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER)
    for outcome in (told.outcome, noted.outcome):
        if outcome.error is not ErrorCode.NONE:
            return AssignReplicasToDirsResponse(error_code=outcome.error)
    if told.lost:
        logger.error("broker lost partitions node=%d count=%d", request.broker_id, told.lost)
    return AssignReplicasToDirsResponse(
        directories=[_answer(each.id, each.topics, noted.errors) for each in request.directories]
    )


def _answer(
    directory: UUID, topics: list[RequestTopicData], errors: Mapping[tuple[UUID, int], ErrorCode]
) -> ResponseDirectoryData:
    return ResponseDirectoryData(
        id=directory,
        topics=[
            ResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[
                    ResponsePartitionData(
                        partition_index=each.partition_index,
                        error_code=errors.get((topic.topic_id, each.partition_index), ErrorCode.NONE),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in topics
        ],
    )

"""OffsetForLeaderEpoch (API key 23), versions 2 to 4: where an epoch ended, so that a reader notices a cut log."""

from millstream_broker.shell.broker import Broker
from millstream_broker.shell.epoch_ends import end_of_epoch
from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from millstream_wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle_offset_for_leader_epoch(
    broker: Broker, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    refused = None
    if not context.may(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER):
        refused = refuse_some(request, context, "topics", AclOperation.DESCRIBE, name=lambda asked: asked.topic)
    topics = [
        OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[_epoch_end(broker, topic.topic, partition) for partition in topic.partitions],
        )
        for topic in request.topics
    ]
    return joined(OffsetForLeaderEpochResponse(topics=topics), refused)


def _epoch_end(broker: Broker, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    replica = broker.locate(topic, asked.partition, asked.current_leader_epoch)
    if isinstance(replica, ErrorCode):
        return EpochEndOffset(error_code=replica, partition=asked.partition)
    epoch, end_offset = end_of_epoch(replica, asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)

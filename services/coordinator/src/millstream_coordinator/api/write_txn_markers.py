"""WriteTxnMarkers (API key 27), versions 1 and 2: ends transactions in shards of groups that are owned here.

Each shard's part is one batch in its log, answered once that is committed.
"""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_coordinator.core.commands.transactional_offsets import Marker, end_in_group
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from millstream_wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
)


async def handle_write_txn_markers(
    coordinator: Coordinator, request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse:
    if not any(
        context.may(operation, AclResource.CLUSTER) for operation in (AclOperation.CLUSTER_ACTION, AclOperation.ALTER)
    ):
        context.denied(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER)
        return error_response(request, context.version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    response = WriteTxnMarkersResponse()
    for marker in request.markers:
        result = WritableTxnMarkerResult(producer_id=marker.producer_id)
        for topic in marker.topics:
            answer = WritableTxnMarkerTopicResult(name=topic.name)
            for index in topic.partition_indexes:
                error = await _write(coordinator, marker, topic.name, index)
                answer.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=error))
            result.topics.append(answer)
        response.markers.append(result)
    return response


async def _write(coordinator: Coordinator, marker: WritableTxnMarker, topic: str, index: int) -> ErrorCode:
    known = coordinator.image.topic(topic)
    if topic != OFFSETS_TOPIC or known is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    groups = coordinator.shards.at(known.topic_id, index)
    if isinstance(groups, ErrorCode):
        return groups
    end = Marker(
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        committed=marker.transaction_result,
        transaction_version=marker.transaction_version,
    )
    return await coordinator.committed(groups.execute(lambda shard, now_ms: end_in_group(shard, end, now_ms)))

"""FetchSnapshot (59), versions 0 and 1: the metadata log's newest snapshot, by and by. A snapshot id of -1 asks for whichever it is."""

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import METADATA_TOPIC
from millstream_controller.shell.active import Active, NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchSnapshotRequest, FetchSnapshotResponse
from millstream_wire.messages.fetch_snapshot import (
    LeaderIdAndEpoch,
    RequestPartitionSnapshot,
    ResponsePartitionSnapshot,
    ResponseTopicSnapshot,
    SnapshotId,
)


async def handle_fetch_snapshot(
    controller: Controller, request: FetchSnapshotRequest, context: RequestContext
) -> FetchSnapshotResponse:
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        active = controller.active
    except NotActive:
        return FetchSnapshotResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return FetchSnapshotResponse(
        topics=[
            ResponseTopicSnapshot(
                name=topic.name,
                partitions=[_part(active, topic.name, each, request.max_bytes) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _part(active: Active, topic: str, wanted: RequestPartitionSnapshot, max_bytes: int) -> ResponsePartitionSnapshot:
    answer = ResponsePartitionSnapshot(index=wanted.partition, snapshot_id=wanted.snapshot_id)
    elected = active.log.image.controller
    if elected is not None:
        answer.current_leader = LeaderIdAndEpoch(leader_id=elected.controller_id, leader_epoch=elected.epoch)
    snapshot = active.log.snapshot
    if topic != METADATA_TOPIC or wanted.partition != 0:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif snapshot is None or wanted.snapshot_id.end_offset not in (-1, snapshot.end_offset):
        answer.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
    elif not 0 <= wanted.position < len(snapshot.data):
        answer.error_code = ErrorCode.POSITION_OUT_OF_RANGE
    else:
        answer.snapshot_id = SnapshotId(end_offset=snapshot.end_offset, epoch=snapshot.epoch)
        answer.size = len(snapshot.data)
        answer.position = wanted.position
        answer.unaligned_records = snapshot.data[wanted.position : wanted.position + max(1, max_bytes)]
    return answer

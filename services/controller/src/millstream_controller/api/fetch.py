"""Fetch (1), versions 4 to 18, of the metadata log alone: `__cluster_metadata`, partition 0, for followers and for the curious.

Long polls; a follower that is behind the log's start is told which snapshot to fetch, and one whose last record this log does
not contain, by its epoch, is told that they diverge: the log went back, and this controller stops. Left out: sessions (every fetch is full).
"""

from collections.abc import Sequence

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from millstream_controller.shell.active import Active, NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)
from millstream_wire.usual.fetch_response import TOPIC_IDS_SINCE

WAIT_MS_MAX = 30_000
ELECTION_WAIT_MS_MAX = 250
"""No more than a start takes: one that does not get on must not keep a node from asking the next controller."""


async def handle_fetch(controller: Controller, request: FetchRequest, context: RequestContext) -> FetchResponse:
    # A node that starts with its controller is let in at once, not at its next try.
    await controller.until_elected(min(request.max_wait_ms, ELECTION_WAIT_MS_MAX))
    try:
        active = controller.active
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
    except NotActive:
        return FetchResponse(error_code=ErrorCode.NOT_CONTROLLER)
    replica_id = max(request.replica_id, request.replica_state.replica_id)
    if request.cluster_id not in (None, active.log.image.cluster_id):
        return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    for topic in request.topics:
        for partition in topic.partitions:
            if _unknown(topic, partition, context.version) is ErrorCode.NONE:
                await _wait(active, request, replica_id, partition.fetch_offset)
    if not controller.serves(active):
        return FetchResponse(error_code=ErrorCode.NOT_CONTROLLER)
    responses = [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[_answer(active, request, topic, each, context.version) for each in topic.partitions],
        )
        for topic in request.topics
    ]
    if replica_id >= 0 and request.cluster_id is not None:
        try:
            await _doubt_if_disowned(active, request, replica_id, responses)
        except NotActive:
            return FetchResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return FetchResponse(responses=responses)


async def _doubt_if_disowned(
    active: Active, request: FetchRequest, replica_id: int, responses: Sequence[FetchableTopicResponse]
) -> None:
    """A node of this cluster that has applied what the log does not contain is right, or this controller is deposed."""
    for topic, response in zip(request.topics, responses, strict=True):
        for asked, answer in zip(topic.partitions, response.partitions, strict=True):
            beyond = answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and asked.fetch_offset > answer.high_watermark
            if beyond or answer.diverging_epoch.end_offset >= 0:
                applied = f"metadata up to {asked.fetch_offset - 1} of epoch {asked.last_fetched_epoch}"
                held = f"the log ends at {answer.high_watermark - 1}, there or before it of another epoch"
                await active.doubt(f"node {replica_id} has {applied}, {held}")


async def _wait(active: Active, request: FetchRequest, replica_id: int, offset: int) -> None:
    if replica_id >= 0:
        active.followed(replica_id, offset, metadata_version=request.metadata_version)
    if request.min_bytes > 0 and offset == active.log.end_offset:
        await active.log.wait_beyond(offset, min(request.max_wait_ms, WAIT_MS_MAX))


def _answer(
    active: Active, request: FetchRequest, topic: FetchTopic, wanted: FetchPartition, version: int
) -> PartitionData:
    error = _unknown(topic, wanted, version)
    if error is not ErrorCode.NONE:
        return PartitionData(partition_index=wanted.partition, error_code=error)
    log = active.log
    elected = log.image.controller
    assert elected is not None, "an active controller has elected itself"
    answer = PartitionData(
        partition_index=wanted.partition,
        high_watermark=log.end_offset,
        last_stable_offset=log.end_offset,
        log_start_offset=log.start_offset,
        current_leader=LeaderIdAndEpoch(leader_id=elected.controller_id, leader_epoch=elected.epoch),
        records=b"",
    )
    if log.start_offset <= wanted.fetch_offset <= log.end_offset:
        known = log.epoch_before(wanted.fetch_offset)
        if wanted.last_fetched_epoch >= 0 and wanted.last_fetched_epoch != known:
            answer.diverging_epoch = EpochEndOffset(epoch=known, end_offset=wanted.fetch_offset)
            return answer
        answer.records = log.read(wanted.fetch_offset, min(request.max_bytes, wanted.partition_max_bytes))
        return answer
    is_follower = max(request.replica_id, request.replica_state.replica_id) >= 0
    if wanted.fetch_offset < log.start_offset and is_follower and log.snapshot is not None:
        answer.snapshot_id = SnapshotId(end_offset=log.snapshot.end_offset, epoch=log.snapshot.epoch)
        return answer
    answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    return answer


def _unknown(topic: FetchTopic, wanted: FetchPartition, version: int) -> ErrorCode:
    if version >= TOPIC_IDS_SINCE and topic.topic_id != METADATA_TOPIC_ID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if version < TOPIC_IDS_SINCE and topic.topic != METADATA_TOPIC:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if wanted.partition == 0 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

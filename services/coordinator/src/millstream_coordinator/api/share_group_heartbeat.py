"""ShareGroupHeartbeat (API key 76), version 1: join, stay in and leave a share group (KIP-932). Racks are kept and not assigned by."""

from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_coordinator.core.group.epochs import JOINING_EPOCH, LEAVING_EPOCH
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group.partitions import by_topic
from millstream_coordinator.core.journal.bounds import fits
from millstream_coordinator.core.share.messages import ShareHeartbeatRequest
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.member_rights import refuse_member
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from millstream_wire.messages.share_group_heartbeat import Assignment, TopicPartitions


async def handle_share_group_heartbeat(
    coordinator: Coordinator, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> ShareGroupHeartbeatResponse:
    """Answer when what the heartbeat changed is in the log; most change nothing."""
    if not feature_level(coordinator.image.feature_levels, SHARE_VERSION):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    denied = refuse_member(request, context, request.subscribed_topic_names)
    if denied is not None:
        return denied
    if not request.member_id:
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
    if flaw := _flaw(request):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=flaw)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    topics = request.subscribed_topic_names
    asked = ShareHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        rack_id=request.rack_id,
        client_id=context.client_id or "",
        client_host=f"/{context.host}",
        topics=None if topics is None else tuple(topics),
    )
    answer = await coordinator.committed(groups.shares.heartbeat(asked))
    if isinstance(answer, ErrorCode):
        return error_response(request, context.version, answer)
    return _response(answer)


def _flaw(request: ShareGroupHeartbeatRequest) -> str | None:
    """What is wrong with the request whatever the group is like."""
    if not request.group_id.strip():
        return "GroupId can't be empty."
    if not request.member_id.strip():
        return "MemberId can't be empty."
    if not fits(request.member_id):
        return "MemberId is too long."
    if request.rack_id == "":
        return "RackId can't be empty."
    if request.member_epoch < LEAVING_EPOCH:
        return "MemberEpoch is invalid."
    if request.member_epoch == JOINING_EPOCH and not request.subscribed_topic_names:
        return "SubscribedTopicNames must be set in first request."
    return None


def _response(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in by_topic(answer.assignment)
            ]
        )
    return ShareGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )

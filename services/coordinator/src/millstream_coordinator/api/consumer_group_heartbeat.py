"""ConsumerGroupHeartbeat (API key 68), versions 0 and 1: join, stay in and leave a consumer group (KIP-848).

Version 0 has no regular expressions and lets the coordinator choose the member's id. Racks are kept and not assigned by.
"""

from millstream_cluster.features import GROUP_VERSION, feature_level
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.group.assignors import ASSIGNORS
from millstream_coordinator.core.group.epochs import JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group.partitions import Partitions, by_topic
from millstream_coordinator.core.journal.bounds import fits
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.member_rights import refuse_member, topic_filter
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from millstream_wire.messages.consumer_group_heartbeat import Assignment, TopicPartitions

MEMBER_ID_REQUIRED_SINCE = 1
INSTANCE_ID_MAX = 249
"""As long as a topic's name: Kafka's clients allow no more."""


async def handle_consumer_group_heartbeat(
    coordinator: Coordinator, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse:
    """Answer when what the heartbeat changed is in the log; most change nothing."""
    if not feature_level(coordinator.image.feature_levels, GROUP_VERSION):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    denied = refuse_member(request, context, request.subscribed_topic_names)
    if denied is not None:
        return denied
    error, message = _flaw(request, context.version)
    if error:
        return ConsumerGroupHeartbeatResponse(error_code=error, error_message=message)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    member_id = request.member_id or coordinator.new_member_id("")[1:]
    asked = _asked(request, context, member_id)
    answer = await coordinator.committed(groups.consumers.heartbeat(asked))
    if isinstance(answer, ErrorCode):
        return error_response(request, context.version, answer)
    return _response(answer)


def _flaw(request: ConsumerGroupHeartbeatRequest, version: int) -> tuple[ErrorCode, str]:
    """What is wrong with the request whatever the group is like."""
    if not request.member_id.strip() and (version >= MEMBER_ID_REQUIRED_SINCE or request.member_epoch != JOINING_EPOCH):
        return ErrorCode.INVALID_REQUEST, "MemberId can't be empty."
    if not request.group_id.strip():
        return ErrorCode.INVALID_REQUEST, "GroupId can't be empty."
    if not fits(request.member_id) or not fits(request.subscribed_topic_regex):
        return ErrorCode.INVALID_REQUEST, "MemberId or SubscribedTopicRegex is too long."
    if request.instance_id == "":
        return ErrorCode.INVALID_REQUEST, "InstanceId can't be empty."
    if len(request.instance_id or "") > INSTANCE_ID_MAX:
        return ErrorCode.INVALID_REQUEST, f"InstanceId must have 1 to {INSTANCE_ID_MAX} characters."
    if request.rack_id == "":
        return ErrorCode.INVALID_REQUEST, "RackId can't be empty."
    match request.member_epoch:
        case 0:
            return _flaw_of_joining(request)
        case epoch if epoch > 0 or epoch == LEAVING_EPOCH:
            return _flaw_of_assignor(request)
        case epoch if epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
            return ErrorCode.INVALID_REQUEST, "InstanceId can't be null."
        case epoch if epoch == STATIC_LEAVING_EPOCH:
            return _flaw_of_assignor(request)
        case _:
            return ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid."


def _flaw_of_joining(request: ConsumerGroupHeartbeatRequest) -> tuple[ErrorCode, str]:
    if request.rebalance_timeout_ms == -1:
        return ErrorCode.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return ErrorCode.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return (
            ErrorCode.INVALID_REQUEST,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    return _flaw_of_assignor(request)


def _flaw_of_assignor(request: ConsumerGroupHeartbeatRequest) -> tuple[ErrorCode, str]:
    if request.server_assignor is None or request.server_assignor in ASSIGNORS:
        return ErrorCode.NONE, ""
    return (
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(ASSIGNORS)}.",
    )


def _asked(request: ConsumerGroupHeartbeatRequest, context: RequestContext, member_id: str) -> HeartbeatRequest:
    reported: Partitions | None = None
    if request.topic_partitions is not None:
        reported = frozenset(
            (topic.topic_id, partition) for topic in request.topic_partitions for partition in topic.partitions
        )
    topics = request.subscribed_topic_names
    return HeartbeatRequest(
        group_id=request.group_id,
        member_id=member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        client_id=context.client_id or "",
        client_host=f"/{context.host}",
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if topics is None else tuple(topics),
        regex=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        reported=reported,
        may_see=topic_filter(context),
    )


def _response(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in by_topic(answer.assignment)
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )

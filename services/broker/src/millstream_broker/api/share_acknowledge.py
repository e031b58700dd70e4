"""ShareAcknowledge (API key 79), versions 1 and 2: what a member of a share group says of its records (KIP-932, KIP-1222).

The answer comes once that is stored. Epoch -1 closes the member's session, and what it still has is for others.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.share.acknowledgements import Batch, read_acknowledgements
from millstream_broker.core.share.session import FINAL_EPOCH, INITIAL_EPOCH, MemberKey
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.leaders import endpoints, leader_elsewhere
from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from millstream_wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeTopicResponse,
)

Answers = dict[ReplicaKey, "ErrorCode | asyncio.Future[ErrorCode]"]


def handle_share_acknowledge(
    broker: Broker, request: ShareAcknowledgeRequest, context: RequestContext
) -> ShareAcknowledgeResponse | Coroutine[Any, Any, ShareAcknowledgeResponse]:
    if not broker.share_groups.are_on:
        return ShareAcknowledgeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    refused = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id or "")
    if refused is not None:
        return refused
    if not request.group_id or not request.member_id:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_REQUEST)
    if request.share_session_epoch == INITIAL_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    member = MemberKey(request.group_id, request.member_id)
    session = broker.share_groups.sessions.go_on(member, request.share_session_epoch)
    if isinstance(session, ErrorCode):
        return ShareAcknowledgeResponse(error_code=session)
    said = {
        (topic.topic_id, partition.partition_index): partition.acknowledgement_batches
        for topic in request.topics
        for partition in topic.partitions
    }
    answers = acknowledge(broker, member, said, is_renewal=request.is_renew_ack, context=context)
    if request.share_session_epoch == FINAL_EPOCH:
        broker.share_groups.end(session)
    return _respond(broker, member, answers, context)


def acknowledge(
    broker: Broker,
    member: MemberKey,
    said: Mapping[ReplicaKey, Sequence[Batch]],
    *,
    is_renewal: bool,
    context: RequestContext,
) -> Answers:
    """Pass on what the member says of each partition; how that went is known once it is stored."""
    shares = broker.share_groups.partitions
    may_renew = is_renewal and shares.settings(member.group_id).may_renew
    answers: Answers = {}
    for key, batches in said.items():
        if not broker.may_read(key[0], context):
            answers[key] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            continue
        acknowledgements = read_acknowledgements(batches, may_renew=may_renew)
        if isinstance(acknowledgements, ErrorCode):
            answers[key] = acknowledgements
            continue
        replica = broker.locate(*key)
        if isinstance(replica, ErrorCode):
            answers[key] = replica
        else:
            answers[key] = shares.acknowledge(member.group_id, key, member.member_id, acknowledgements)
    return answers


async def settled(answers: Answers) -> dict[ReplicaKey, ErrorCode]:
    return {key: answer if isinstance(answer, ErrorCode) else await answer for key, answer in answers.items()}


async def _respond(
    broker: Broker, member: MemberKey, answers: Answers, context: RequestContext
) -> ShareAcknowledgeResponse:
    codes = await settled(answers)
    topics: dict[UUID, ShareAcknowledgeTopicResponse] = {}
    leaders: list[int] = []
    for (topic_id, index), code in codes.items():
        nobody = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
        data = PartitionData(partition_index=index, error_code=code, current_leader=nobody)
        partition = leader_elsewhere(broker.image, topic_id, index, code)
        if partition is not None:
            data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
            leaders.append(partition.leader)
        topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id)).partitions.append(data)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=broker.share_groups.partitions.settings(member.group_id).limits.lock_ms,
        responses=list(topics.values()),
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=endpoint.host, port=endpoint.port, rack=rack)
            for node_id, endpoint, rack in endpoints(broker.image, leaders, context.listener_name)
        ],
    )

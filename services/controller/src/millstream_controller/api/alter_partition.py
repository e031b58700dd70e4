"""AlterPartition (56), versions 2 and 3, from the brokers that lead: a connection speaks for its own broker alone."""

import logging
from uuid import UUID

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import NO_EPOCH, NodeId, Role
from millstream_cluster.records import LeaderRecoveryState
from millstream_controller.core.partitions.isr_changes import (
    RECOVERED,
    RECOVERING,
    Proposal,
    Proposals,
    Verdict,
    alter_partitions,
)
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.peer import NodePeer
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterPartitionRequest, AlterPartitionResponse
from millstream_wire.messages.alter_partition import RequestPartitionData, ResponsePartitionData, ResponseTopicData

logger = logging.getLogger(__name__)

EPOCHS_SINCE = 3
"""Before it a proposal did not say in which life each member has fetched (KIP-903)."""


async def handle_alter_partition(
    controller: Controller, request: AlterPartitionRequest, context: RequestContext
) -> AlterPartitionResponse:
    wanted = Proposals(
        request.broker_id,
        request.broker_epoch,
        tuple(
            _proposal(topic.topic_id, each, context.version) for topic in request.topics for each in topic.partitions
        ),
    )
    try:
        active = controller.active
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        if context.peer != NodePeer(Role.BROKER, NodeId(request.broker_id)):
            return AlterPartitionResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        judged = await active.execute(lambda machine: alter_partitions(machine, wanted))
    except NotActive:
        return AlterPartitionResponse(error_code=ErrorCode.NOT_CONTROLLER)
    if judged.error is not ErrorCode.NONE:
        return AlterPartitionResponse(error_code=judged.error)
    topics: dict[UUID, ResponseTopicData] = {}
    for verdict in judged.verdicts:
        topic_id = verdict.proposal.topic_id
        topics.setdefault(topic_id, ResponseTopicData(topic_id=topic_id)).partitions.append(_told(verdict))
        if verdict.error is not ErrorCode.NONE:
            logger.info(
                "isr not changed broker=%d topic_id=%s partition=%d error=%s",
                request.broker_id,
                topic_id,
                verdict.proposal.partition,
                verdict.error.name,
            )
    return AlterPartitionResponse(topics=list(topics.values()))


def _proposal(topic_id: UUID, asked: RequestPartitionData, version: int) -> Proposal:
    if version < EPOCHS_SINCE:
        isr = tuple((node_id, int(NO_EPOCH)) for node_id in asked.new_isr)
    else:
        isr = tuple((each.broker_id, each.broker_epoch) for each in asked.new_isr_with_epochs)
    return Proposal(
        topic_id,
        asked.partition_index,
        asked.leader_epoch,
        asked.partition_epoch,
        isr,
        asked.leader_recovery_state,
        asked.resigns,
    )


def _told(verdict: Verdict) -> ResponsePartitionData:
    told = ResponsePartitionData(partition_index=verdict.proposal.partition, error_code=verdict.error)
    if verdict.state is not None:
        recovers = verdict.state.leader_recovery_state is LeaderRecoveryState.RECOVERING
        told.leader_id = verdict.state.leader
        told.leader_epoch = verdict.state.leader_epoch
        told.isr = list(verdict.state.isr)
        told.leader_recovery_state = RECOVERING if recovers else RECOVERED
        told.partition_epoch = verdict.state.partition_epoch
    return told

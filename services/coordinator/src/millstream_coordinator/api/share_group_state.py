"""The state of share partitions: InitializeShareGroupState (API key 83), version 0; ReadShareGroupState (84), version 0;
WriteShareGroupState (85), versions 0 and 1; DeleteShareGroupState (86), version 0; ReadShareGroupStateSummary (87), versions
0 and 1. Only nodes of the cluster send these: they are not advertised.

A request may name partitions whose state is kept in different shards of this node; each is a decision of its own.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

from millstream_cluster.acls import AclOperation
from millstream_coordinator.core.share_state import commands
from millstream_coordinator.core.share_state.commands import Answer, StateDecision
from millstream_coordinator.core.share_state.machine import ShareStateShard
from millstream_coordinator.core.share_state.state import NOT_BEGUN, UNKNOWN_COUNT, SharePartition, StateBatch
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    delete_share_group_state as deletion,
)
from millstream_wire.messages import (
    initialize_share_group_state as beginning,
)
from millstream_wire.messages import (
    read_share_group_state as reading,
)
from millstream_wire.messages import (
    read_share_group_state_summary as summary,
)
from millstream_wire.messages import (
    write_share_group_state as writing,
)

Decide = Callable[[ShareStateShard, int], StateDecision]


async def handle_initialize_share_group_state(
    coordinator: Coordinator, request: m.InitializeShareGroupStateRequest, context: RequestContext
) -> m.InitializeShareGroupStateResponse:
    denied = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return denied

    def decide(key: SharePartition, asked: beginning.PartitionData) -> Decide:
        return lambda shard, now_ms: commands.initialize(
            shard, key, state_epoch=asked.state_epoch, start_offset=asked.start_offset, now_ms=now_ms
        )

    response = m.InitializeShareGroupStateResponse()
    for topic_id, answers in await _each(coordinator, request, decide):
        results = [
            beginning.PartitionResult(partition=number, error_code=answer.error, error_message=answer.message)
            for number, answer in answers
        ]
        response.results.append(beginning.InitializeStateResult(topic_id=topic_id, partitions=results))
    return response


async def handle_read_share_group_state(
    coordinator: Coordinator, request: m.ReadShareGroupStateRequest, context: RequestContext
) -> m.ReadShareGroupStateResponse:
    denied = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return denied

    def decide(key: SharePartition, asked: reading.PartitionData) -> Decide:
        return lambda shard, now_ms: commands.read(shard, key, leader_epoch=asked.leader_epoch, now_ms=now_ms)

    response = m.ReadShareGroupStateResponse()
    for topic_id, answers in await _each(coordinator, request, decide):
        results = [_read(number, answer) for number, answer in answers]
        response.results.append(reading.ReadStateResult(topic_id=topic_id, partitions=results))
    return response


async def handle_write_share_group_state(
    coordinator: Coordinator, request: m.WriteShareGroupStateRequest, context: RequestContext
) -> m.WriteShareGroupStateResponse:
    denied = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return denied

    def decide(key: SharePartition, asked: writing.PartitionData) -> Decide:
        written = commands.Write(
            state_epoch=asked.state_epoch,
            leader_epoch=asked.leader_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=asked.delivery_complete_count,
            batches=tuple(
                StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
                for each in asked.state_batches
            ),
        )
        return lambda shard, now_ms: commands.write(shard, key, written, now_ms)

    response = m.WriteShareGroupStateResponse()
    for topic_id, answers in await _each(coordinator, request, decide):
        results = [
            writing.PartitionResult(partition=number, error_code=answer.error, error_message=answer.message)
            for number, answer in answers
        ]
        response.results.append(writing.WriteStateResult(topic_id=topic_id, partitions=results))
    return response


async def handle_delete_share_group_state(
    coordinator: Coordinator, request: m.DeleteShareGroupStateRequest, context: RequestContext
) -> m.DeleteShareGroupStateResponse:
    denied = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return denied

    def decide(key: SharePartition, asked: deletion.PartitionData) -> Decide:
        return lambda shard, now_ms: commands.delete(shard, key)

    response = m.DeleteShareGroupStateResponse()
    # The topic may be gone already: its state has to go all the more.
    for topic_id, answers in await _each(coordinator, request, decide, of_missing_topics=True):
        results = [
            deletion.PartitionResult(partition=number, error_code=answer.error, error_message=answer.message)
            for number, answer in answers
        ]
        response.results.append(deletion.DeleteStateResult(topic_id=topic_id, partitions=results))
    return response


async def handle_read_share_group_state_summary(
    coordinator: Coordinator, request: m.ReadShareGroupStateSummaryRequest, context: RequestContext
) -> m.ReadShareGroupStateSummaryResponse:
    denied = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
    if denied is not None:
        return denied

    def decide(key: SharePartition, asked: summary.PartitionData) -> Decide:
        return lambda shard, now_ms: commands.look(shard, key)

    response = m.ReadShareGroupStateSummaryResponse()
    for topic_id, answers in await _each(coordinator, request, decide):
        results = [_summary(number, answer) for number, answer in answers]
        response.results.append(summary.ReadStateSummaryResult(topic_id=topic_id, partitions=results))
    return response


async def _each(
    coordinator: Coordinator,
    request: Any,
    decide: Callable[[SharePartition, Any], Decide],
    *,
    of_missing_topics: bool = False,
) -> list[tuple[UUID, list[tuple[int, Answer]]]]:
    """The answers by topic and partition, in the order of the request. They go to the log together."""

    async def answer(topic_id: UUID, asked: Any) -> Answer:
        if not of_missing_topics and coordinator.image.partition(topic_id, asked.partition) is None:
            return Answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        states = coordinator.share_states_of(request.group_id, topic_id, asked.partition)
        if isinstance(states, ErrorCode):
            return Answer(states)
        decision = decide(SharePartition(request.group_id, topic_id, asked.partition), asked)
        answered = await coordinator.committed(states.execute(decision))
        return Answer(answered) if isinstance(answered, ErrorCode) else answered

    answers = await asyncio.gather(
        *(answer(topic.topic_id, each) for topic in request.topics for each in topic.partitions)
    )
    in_order = iter(answers)
    return [
        (topic.topic_id, [(each.partition, next(in_order)) for each in topic.partitions]) for topic in request.topics
    ]


def _read(number: int, answer: Answer) -> reading.PartitionResult:
    result = reading.PartitionResult(partition=number, error_code=answer.error, error_message=answer.message)
    if answer.state is not None:
        result.state_epoch = answer.state.state_epoch
        result.start_offset = answer.state.start_offset
        result.state_batches = [
            reading.StateBatch(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_state=each.delivery_state,
                delivery_count=each.delivery_count,
            )
            for each in answer.state.batches
        ]
    return result


def _summary(number: int, answer: Answer) -> summary.PartitionResult:
    """A partition that is not known here has not begun: no error."""
    state = answer.state
    return summary.PartitionResult(
        partition=number,
        error_code=answer.error,
        error_message=answer.message,
        state_epoch=state.state_epoch if state is not None else 0,
        leader_epoch=state.leader_epoch if state is not None else 0,
        start_offset=state.start_offset if state is not None else NOT_BEGUN,
        delivery_complete_count=state.delivery_complete_count if state is not None else UNKNOWN_COUNT,
    )

"""What producers are answered: where each of their batches is, or why it is not there and who leads the partition."""

from collections.abc import Sequence
from typing import Final, TypeAlias
from uuid import UUID

from millstream_broker.core.appends.validation import Refused
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.leaders import endpoints, leader_elsewhere
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    TopicProduceResponse,
)
from millstream_wire.usual.produce_request import TOPIC_IDS_SINCE

Appended: TypeAlias = tuple[int, int, int, int]
"""Base offset, append time and the log's start offset, as the answer has them; then the last offset."""
Outcome: TypeAlias = Appended | Refused

LEADER_HINTS_SINCE: Final = 10


def refusing(
    broker: Broker, request: ProduceRequest, outcomes: Sequence[Sequence[Outcome]], context: RequestContext
) -> ProduceResponse:
    response = response_to(request, outcomes)
    if context.version >= LEADER_HINTS_SINCE:
        _add_leader_hints(broker, response, context, by_id=context.version >= TOPIC_IDS_SINCE)
    return response


def response_to(request: ProduceRequest, outcomes: Sequence[Sequence[Outcome]]) -> ProduceResponse:
    topics = []
    for data, appended in zip(request.topic_data, outcomes, strict=True):
        answers = [
            _answer(partition.index, outcome) for partition, outcome in zip(data.partition_data, appended, strict=True)
        ]
        topics.append(TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=answers))
    return ProduceResponse(responses=topics)


def _answer(index: int, outcome: Outcome) -> PartitionProduceResponse:
    if isinstance(outcome, Refused):
        return PartitionProduceResponse(
            index=index,
            error_code=outcome.code,
            base_offset=-1,
            record_errors=[
                BatchIndexAndErrorMessage(batch_index=record.batch_index, batch_index_error_message=record.message)
                for record in outcome.records
            ],
            error_message=outcome.message or None,
        )
    base_offset, log_append_time_ms, log_start_offset, _ = outcome
    return PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )


def _add_leader_hints(broker: Broker, response: ProduceResponse, context: RequestContext, *, by_id: bool) -> None:
    leaders = []
    for topic in response.responses:
        name: str | UUID = topic.topic_id if by_id else topic.name
        for answer in topic.partition_responses:
            partition = leader_elsewhere(broker.image, name, answer.index, answer.error_code)
            if partition is not None:
                leaders.append(partition.leader)
                answer.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leader, leader_epoch=partition.leader_epoch
                )
    response.node_endpoints = [
        NodeEndpoint(node_id=node_id, host=endpoint.host, port=endpoint.port, rack=rack)
        for node_id, endpoint, rack in endpoints(broker.image, leaders, context.listener_name)
    ]

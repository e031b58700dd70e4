"""Produce (API key 0), versions 3 to 13 (0 to 2 are offered and refused, as Kafka does: KAFKA-18659).

Acknowledges 0, 1 and all; topic ids at version 13. One record batch per partition, stored as it came. A transaction's first batch
in a partition waits until its coordinator has confirmed it; with acks=all the answer waits until what it names is committed,
which is at once where no other replica is in sync.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from millstream_broker.core.appends.admission import ACKS_ALL, acknowledgement, admit, check_fence, check_order
from millstream_broker.core.appends.validation import Refused
from millstream_broker.shell.acknowledgement import Acknowledgement
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.produce_answers import Appended, Outcome, refusing, response_to
from millstream_broker.shell.transactions.produce import (
    ADDS_SINCE,
    NO_REFUSALS,
    Refusals,
    verify,
    waiting_producer,
)
from millstream_cluster.acls import AclOperation, AclResource, May
from millstream_log import LogError
from millstream_log.errors import StorageError
from millstream_runtime.serving.context import CloseConnection, Deferred, RequestContext
from millstream_runtime.serving.peer import is_coordinator, is_node
from millstream_runtime.serving.refusals import joined, refuse_where
from millstream_wire.codec import decode
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import TopicProduceData
from millstream_wire.records import RecordsError, parse_header
from millstream_wire.usual.produce_request import TOPIC_IDS_SINCE, read_single
from millstream_wire.usual.produce_response import one_success

Unacknowledged: TypeAlias = tuple[list[Outcome], int, HostedPartition, "asyncio.Future[ErrorCode]"]
"""What is appended and not committed: where its outcome is noted, its partition, and what is waited for."""

_WRITE: Final = AclOperation.WRITE
_TOPIC: Final = AclResource.TOPIC


def answer_single_produce(
    broker: Broker, frame: bytes | memoryview, position: int, context: RequestContext
) -> bytes | ProduceResponse | Deferred | None:
    """A `Shortcut`: serve the request that nearly every producer sends without making a message of it."""
    version = context.version
    single = read_single(frame, position, version)
    if single is None or single.acks == 0 or broker.throttling.produce.active:
        return None
    index = single.index
    replica = broker.partitions.find(single.topic, index)
    if replica is None or not replica.partition.leads:
        return None
    if context.connection.authorizer is not None and not context.may(_WRITE, _TOPIC, replica.topic):
        return None
    try:
        appended = _append(
            broker, replica, single.records, single.acks, context, broker.world.now_ms(), transactional=False
        )
    except Refused as refusal:
        _remember(broker, _as_asked(replica, version), index, single.records, refusal, context)
        request = decode(ProduceRequest, version, frame, position)
        return refusing(broker, request, [[refusal]], context)
    base_offset, append_time_ms, start_offset, last_offset = appended
    if single.acks == ACKS_ALL and last_offset >= replica.partition.high_watermark:
        return Acknowledgement(broker, replica, single, appended, context)
    return one_success(
        version, context.correlation_id, single.encoded_topic, index, base_offset, append_time_ms, start_offset
    )


def handle_produce(
    broker: Broker, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    may = context.may_what
    if may is None:
        return _produce_any(broker, request, context)
    refused = _refused(broker, request, context, may)
    answer = _produce_any(broker, request, context)
    if refused is None:
        return answer
    if request.acks == 0:
        raise CloseConnection("a produce with acks=0 was not permitted")
    assert answer is not None, "only acks=0 is not answered"
    return joined(answer, refused) if isinstance(answer, ProduceResponse) else _answer_beside(answer, refused)


def _refused(broker: Broker, request: ProduceRequest, context: RequestContext, may: May) -> ProduceResponse | None:
    """What may not be written, taken out of the request and answered."""
    by_id = context.version >= TOPIC_IDS_SINCE
    transactional_id = request.transactional_id
    if transactional_id is not None and not may(_WRITE, AclResource.TRANSACTIONAL_ID, transactional_id):
        context.denied(_WRITE, AclResource.TRANSACTIONAL_ID, transactional_id)
        refused = error_response(request, context.version, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        request.topic_data = []
        return refused

    def is_permitted(data: TopicProduceData) -> bool:
        name = broker.name_of(data.topic_id if by_id else data.name)
        return name is None or may(_WRITE, _TOPIC, name)

    return refuse_where(request, context, "topic_data", is_permitted, _WRITE)


async def _answer_beside(answer: Awaitable[ProduceResponse | None], refused: ProduceResponse) -> ProduceResponse | None:
    answered = await answer
    return None if answered is None else joined(answered, refused)


def _produce_any(
    broker: Broker, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    if request.transactional_id is not None and (broker.config.verifies_transactions or context.version >= ADDS_SINCE):
        producer_id = waiting_producer(broker, request, by_id=context.version >= TOPIC_IDS_SINCE)
        if producer_id is not None:
            for topic in request.topic_data:
                for partition in topic.partition_data:
                    if partition.records is not None:  # a view, which ends when we return
                        partition.records = memoryview(bytearray(partition.records))
            return broker.verification.in_turn(producer_id, lambda: _produce_verified(broker, request, context))
    return _produce(broker, request, context, NO_REFUSALS)


async def _produce_verified(
    broker: Broker, request: ProduceRequest, context: RequestContext
) -> ProduceResponse | Coroutine[Any, Any, ProduceResponse] | None:
    refusals = await verify(broker, request, context.version, by_id=context.version >= TOPIC_IDS_SINCE)
    return _produce(broker, request, context, refusals)


def _produce(
    broker: Broker, request: ProduceRequest, context: RequestContext, refusals: Refusals
) -> ProduceResponse | Coroutine[Any, Any, ProduceResponse] | None:
    acks, version = request.acks, context.version
    by_id = version >= TOPIC_IDS_SINCE
    transactional = request.transactional_id is not None
    now_ms = broker.world.now_ms()
    refused = False
    outcomes: list[list[Outcome]] = []
    unacknowledged: list[Unacknowledged] = []
    for data in request.topic_data:
        topic: str | UUID = data.topic_id if by_id else data.name
        appended: list[Outcome] = []
        outcomes.append(appended)
        for partition in data.partition_data:
            try:
                located = _located(broker, topic, partition.index)
                if refusals and (located.topic, located.index) in refusals:
                    raise refusals[located.topic, located.index]
                outcome = _append(
                    broker, located, partition.records, acks, context, now_ms, transactional=transactional
                )
                if acks == ACKS_ALL and outcome[3] >= located.partition.high_watermark:
                    wait = broker.when_committed(located, outcome[3], request.timeout_ms)
                    unacknowledged.append((appended, len(appended), located, wait))
                appended.append(outcome)
            except Refused as refusal:
                # One partition's bad batch leaves the others alone.
                refused = True
                appended.append(refusal)
                key = topic.bytes if isinstance(topic, UUID) else topic
                _remember(broker, key, partition.index, partition.records, refusal, context)
    throttle_ms = 0
    if broker.throttling.produce.active:
        throttle_ms = broker.throttling.produced(request, broker.image, context, by_id=by_id)
    if acks == 0:
        if refused:
            raise CloseConnection("a produce with acks=0 was refused")
        return None
    if unacknowledged:
        return _acknowledge(broker, request, outcomes, unacknowledged, context, throttle_ms=throttle_ms)
    response = refusing(broker, request, outcomes, context) if refused else response_to(request, outcomes)
    response.throttle_time_ms = throttle_ms
    return response


async def _acknowledge(
    broker: Broker,
    request: ProduceRequest,
    outcomes: list[list[Outcome]],
    unacknowledged: Sequence[Unacknowledged],
    context: RequestContext,
    *,
    throttle_ms: int,
) -> ProduceResponse:
    """Answer once every batch is committed, or it is known that nobody will say so here. The request's batches are gone by now."""
    try:
        for appended, at, replica, wait in unacknowledged:
            code = await wait
            if code is ErrorCode.NONE:
                code = acknowledgement(replica.partition, replica.settings)
            if code is not ErrorCode.NONE:
                appended[at] = Refused(code, "")
    finally:
        for _, _, _, wait in unacknowledged:
            wait.cancel()
    response = refusing(broker, request, outcomes, context)
    response.throttle_time_ms = throttle_ms
    return response


def _located(broker: Broker, topic: str | bytes | UUID, index: int) -> HostedPartition:
    replica = broker.locate(topic, index)
    if not isinstance(replica, HostedPartition):
        raise Refused(replica, "")
    return replica


def _append(
    broker: Broker,
    replica: HostedPartition,
    batch: memoryview | bytearray | bytes | None,
    acks: int,
    context: RequestContext,
    now_ms: int,
    *,
    transactional: bool,
) -> Appended:
    partition, log = replica.partition, replica.log
    if broker.audit_topic is not None and replica.topic == broker.audit_topic and not is_node(context.peer):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{replica.topic} is written by nodes only")
    header = admit(
        batch,
        acks,
        partition,
        replica.settings,
        replica.name,
        version=context.version,
        now_ms=now_ms,
        is_internal=replica.is_internal,
        from_coordinator=replica.is_internal and is_coordinator(context.peer),
        transactional=transactional,
    )
    if replica.is_internal:
        # One producer, as a rule: those of the shard's claims.
        check_fence(
            header, broker.image.shard(replica.topic_id, replica.index), [each.producer_id for each in log.producers]
        )
    if broker.refused_batches.lowest and header.producer_id >= 0:
        key = (_as_asked(replica, context.version), replica.index, header.producer_id)
        is_remembered = log.producer(header.producer_id) is not None
        check_order(header, key, broker.refused_batches, is_remembered=is_remembered, now_ms=context.received_at_ms)
    assert batch is not None, "validated"
    try:
        result = log.append(batch, header, leader_epoch=partition.leader_epoch, now_ms=now_ms)
    except LogError as error:
        if isinstance(error, StorageError):
            broker.storage_failed(replica, error)
        raise Refused(error.error_code, str(error)) from error
    if not result.is_duplicate:
        broker.appended(replica, len(batch))
    return result.base_offset, result.log_append_time, log.log_start_offset, result.last_offset


def _as_asked(replica: HostedPartition, version: int) -> str | bytes:
    """Its topic as requests of this version name it."""
    return replica.topic_id.bytes if version >= TOPIC_IDS_SINCE else replica.topic


def _remember(
    broker: Broker,
    topic: str | bytes,
    index: int,
    batch: memoryview | bytearray | bytes | None,
    refusal: Refused,
    context: RequestContext,
) -> None:
    """What is refused in passing comes again, and what is in flight behind it waits for it."""
    if batch is None or not ErrorCode(refusal.code).retriable:
        return
    try:
        header = parse_header(batch)
    except RecordsError:
        return  # nobody's batch
    if header.producer_id >= 0:
        key = (topic, index, header.producer_id)
        broker.refused_batches.add(key, header.producer_epoch, header.base_sequence, context.received_at_ms)

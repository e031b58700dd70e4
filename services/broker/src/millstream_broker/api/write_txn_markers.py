"""WriteTxnMarkers (API key 27), versions 1 and 2: ends transactions in partitions that are led here.

From coordinators, and from administrators who end a hanging transaction. A marker is answered once it is committed, and so is
one that was here before: who asks takes "it is there" for the end of the matter, and a marker can be lost until then. The coordinators' own topics have no transactions in
their logs: what is committed to a group inside one is for the group's coordinator to end.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from millstream_broker.core.partition.standing import NO_OFFSET
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.acls import AclOperation, AclResource
from millstream_log import LogError
from millstream_log.errors import StorageError
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
from millstream_wire.records import EndMarker, check, encode_batch

EPOCH_BUMPED = 2
"""Transactions version 2: a marker's epoch is above that of the batches whose transaction it ends (KIP-890, KIP-1228)."""


def handle_write_txn_markers(broker: Broker, request: WriteTxnMarkersRequest, context: RequestContext) -> Any:
    if not any(
        context.may(operation, AclResource.CLUSTER) for operation in (AclOperation.CLUSTER_ACTION, AclOperation.ALTER)
    ):
        context.denied(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER)
        return error_response(request, context.version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    written = [
        _write_committed(broker, marker, topic.name, index)
        for marker in request.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    codes = [code for code in written if isinstance(code, ErrorCode)]
    return _response(request, codes) if len(codes) == len(written) else _answer_committed(request, written)


async def _answer_committed(
    request: WriteTxnMarkersRequest, written: Sequence["ErrorCode | asyncio.Future[ErrorCode]"]
) -> WriteTxnMarkersResponse:
    try:
        codes = [code if isinstance(code, ErrorCode) else await code for code in written]
    finally:
        for code in written:
            if not isinstance(code, ErrorCode):
                code.cancel()
    return _response(request, codes)


def _response(request: WriteTxnMarkersRequest, codes: Sequence[ErrorCode]) -> WriteTxnMarkersResponse:
    """One code for each partition of each marker, in the request's order."""
    of_partitions = iter(codes)
    response = WriteTxnMarkersResponse()
    for marker in request.markers:
        result = WritableTxnMarkerResult(producer_id=marker.producer_id)
        for topic in marker.topics:
            partitions = [
                WritableTxnMarkerPartitionResult(partition_index=index, error_code=next(of_partitions))
                for index in topic.partition_indexes
            ]
            result.topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions))
        response.markers.append(result)
    return response


def _write_committed(
    broker: Broker, marker: WritableTxnMarker, topic: str, index: int
) -> "ErrorCode | asyncio.Future[ErrorCode]":
    """How it went; where the marker is in the log, now or since long, once all that is in the log now is committed."""
    replica = broker.locate(topic, index)
    if isinstance(replica, ErrorCode):
        return replica
    code = _write(broker, replica, marker)
    end_offset = replica.partition.end_offset
    if code not in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH) or end_offset <= replica.partition.high_watermark:
        return code
    return broker.when_committed(replica, end_offset - 1, broker.config.request_timeout_ms, then=code)


def _write(broker: Broker, replica: HostedPartition, marker: WritableTxnMarker) -> ErrorCode:
    if replica.is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    known = replica.log.producer(marker.producer_id)
    if marker.transaction_version >= EPOCH_BUMPED and known is not None and known.epoch == marker.producer_epoch:
        # Such a marker raises the epoch, so it has been here; what is under way now would be the next transaction.
        return ErrorCode.NONE if known.transaction_start < 0 else ErrorCode.INVALID_PRODUCER_EPOCH
    now_ms = broker.world.now_ms()
    end = EndMarker(committed=marker.transaction_result, coordinator_epoch=marker.coordinator_epoch)
    batch = bytearray(
        encode_batch(
            [end.encode(now_ms)],
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            transactional=True,
            control=True,
        )
    )
    ended_from = NO_OFFSET if known is None else known.transaction_start
    try:
        leader_epoch = replica.partition.leader_epoch
        replica.log.append_control(batch, check(batch), leader_epoch=leader_epoch, now_ms=now_ms)
    except LogError as error:
        if isinstance(error, StorageError):
            broker.storage_failed(replica, error)
        return ErrorCode(error.error_code)
    replica.markers += 1
    broker.appended(replica, len(batch), ended_from=ended_from)
    return ErrorCode.NONE

"""ListOffsets (API key 2), versions 1 to 11: the ends of partitions, and offsets by time.

A new leader's high watermark may be behind what leaders before have told. Until it has caught up nobody is told an end that
may be lower than one that he was told before (KIP-207).

Without tiered storage the local log is all there is: -4 (earliest local) is the earliest offset, -5 (latest tiered) and
-6 (earliest pending upload) are unknown.
"""

from collections import Counter
from collections.abc import Awaitable
from functools import partial

from millstream_broker.core.reads.bounds import bound_of, is_follower
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.cold_reads import once_loaded
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.acls import AclOperation
from millstream_log import ColdRead, LogError, StorageError, TimestampedOffset
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import beside, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListOffsetsRequest, ListOffsetsResponse
from millstream_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

NOT_AVAILABLE_SINCE = 5
_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_NEVER_KNOWN = (LATEST_TIERED, EARLIEST_PENDING_UPLOAD)
_UNKNOWN = TimestampedOffset(-1, -1, -1)


def handle_list_offsets(
    broker: Broker, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
    refused = refuse_some(request, context, "topics", AclOperation.DESCRIBE)
    return beside(once_loaded(broker.world, partial(_answer, broker, request, context.version)), refused)


def _answer(
    broker: Broker, request: ListOffsetsRequest, version: int, cold: list[ColdRead] | None
) -> ListOffsetsResponse:
    asked = Counter(
        (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    )
    answers: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            index = partition.partition_index
            answers.setdefault(topic.name, {})[index] = (
                _refused(partition, ErrorCode.INVALID_REQUEST)
                if asked[topic.name, index] > 1
                else _find(broker, topic.name, partition, request, version, cold)
            )
    topics = [ListOffsetsTopicResponse(name=name, partitions=list(found.values())) for name, found in answers.items()]
    return ListOffsetsResponse(topics=topics)


def _find(
    broker: Broker,
    topic: str,
    asked: ListOffsetsPartition,
    request: ListOffsetsRequest,
    version: int,
    cold: list[ColdRead] | None,
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < EARLIEST_PENDING_UPLOAD or version < _SINCE.get(asked.timestamp, 0):
        return _refused(asked, ErrorCode.UNSUPPORTED_VERSION)
    replica = broker.locate(topic, asked.partition_index, asked.current_leader_epoch)
    if isinstance(replica, ErrorCode):
        return _refused(asked, replica)
    try:
        found = _lookup(replica, asked.timestamp, end=_end(replica, request), may_wait=cold is None)
    except ColdRead as missing:
        assert cold is not None
        cold.append(missing)
        return _refused(asked, ErrorCode.NONE)  # not sent: it is asked again
    except LogError as error:
        if isinstance(error, StorageError):
            broker.read_failed(replica, error)
        return _refused(asked, ErrorCode(error.error_code))
    asks_for_end = asked.timestamp == LATEST or (found is _UNKNOWN and asked.timestamp not in _NEVER_KNOWN)
    if asks_for_end and not is_follower(request.replica_id) and not replica.partition.knows_high_watermark:
        later = ErrorCode.OFFSET_NOT_AVAILABLE if version >= NOT_AVAILABLE_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
        return _refused(asked, later)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _end(replica: HostedPartition, request: ListOffsetsRequest) -> int:
    """Where the log ends for who asks."""
    return replica.end_for(bound_of(request.replica_id, request.isolation_level))


def _lookup(replica: HostedPartition, timestamp: int, *, end: int, may_wait: bool) -> TimestampedOffset:
    log, partition = replica.log, replica.partition
    if timestamp == LATEST:
        return TimestampedOffset(-1, end, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        if start == log.log_end_offset:
            return TimestampedOffset(-1, start, partition.leader_epoch)  # there the next record will be
        return TimestampedOffset(-1, start, log.epoch_of(start))
    if timestamp in _NEVER_KNOWN:
        return _UNKNOWN
    if timestamp == MAX_TIMESTAMP:
        found = log.offset_of_max_timestamp(may_wait=may_wait)
    else:
        found = log.offset_for_timestamp(timestamp, may_wait=may_wait)
    return found if found is not None and found.offset < end else _UNKNOWN


def _refused(asked: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code)

"""DeleteRecords (API key 21), versions 0 to 2: moves the start of partitions; -1 stands for the high watermark.

Of a partition that is named more than once the last offset counts. Answered once the records are gone from all replicas that
live: those that do not drop them before they lead or are read.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial

from millstream_broker.core.reads.purgatory import ANY_OFFSET
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.effects import wake_all
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.acls import AclOperation
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import beside, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import DeleteRecordsRequest, DeleteRecordsResponse
from millstream_wire.messages.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult

HIGH_WATERMARK = -1
INVALID_LOW_WATERMARK = -1


@dataclass(frozen=True, slots=True)
class _Begun:
    """The records are gone from the log of the leader in this epoch."""

    index: int
    replica: HostedPartition
    leader_epoch: int
    start_offset: int


_Result = DeleteRecordsPartitionResult
_Deletion = _Begun | _Result


def handle_delete_records(
    broker: Broker, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    refused = refuse_some(request, context, "topics", AclOperation.DELETE)
    return beside(_delete_records(broker, request, context), refused)


def _delete_records(
    broker: Broker, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            wanted.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    deletions = {
        name: [_delete(broker, name, index, offset) for index, offset in offsets.items()]
        for name, offsets in wanted.items()
    }
    deadline_ms = context.received_at_ms + request.timeout_ms
    done = {name: [_result(broker, each, deadline_ms) for each in each_of] for name, each_of in deletions.items()}
    if all(result is not None for results in done.values() for result in results):
        return _response({name: [each for each in results if each is not None] for name, results in done.items()})
    return _answer_later(broker, deletions, deadline_ms)


async def _answer_later(
    broker: Broker, deletions: Mapping[str, Sequence[_Deletion]], deadline_ms: int
) -> DeleteRecordsResponse:
    results = {
        name: [await _once_done(broker, each, deadline_ms) for each in each_of] for name, each_of in deletions.items()
    }
    return _response(results)


async def _once_done(broker: Broker, deletion: _Deletion, deadline_ms: int) -> _Result:
    while (result := _result(broker, deletion, deadline_ms)) is None:
        assert isinstance(deletion, _Begun)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = broker.delays.wait(
            partial(_wake, woken),
            {deletion.replica.starts_place: ANY_OFFSET},
            missing=1,
            wait_ms=deadline_ms - broker.world.monotonic_ms(),
        )
        try:
            await woken
        finally:
            broker.delays.cancel(waiting)
    return result


def _wake(woken: "asyncio.Future[None]", _: bool) -> None:
    if not woken.done():
        woken.set_result(None)


def _response(results: Mapping[str, Sequence[_Result]]) -> DeleteRecordsResponse:
    topics = [DeleteRecordsTopicResult(name=name, partitions=list(each_of)) for name, each_of in results.items()]
    return DeleteRecordsResponse(topics=topics)


def _delete(broker: Broker, topic: str, index: int, offset: int) -> _Deletion:
    replica = broker.locate(topic, index)
    if isinstance(replica, ErrorCode):
        return _refused(index, replica)
    image_topic = broker.image.topic(topic)
    if image_topic is None or image_topic.internal:
        # Offsets and fences live there (design rule: a shard's fence is never forgotten).
        return _refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if not replica.settings.deletes:
        return _refused(index, ErrorCode.POLICY_VIOLATION)
    end = replica.partition.high_watermark
    wanted = end if offset == HIGH_WATERMARK else offset
    if not 0 <= wanted <= end:
        return _refused(index, ErrorCode.OFFSET_OUT_OF_RANGE)
    replica.log.advance_start(wanted)
    wake_all(replica, broker.delays)
    return _Begun(index, replica, int(replica.partition.leader_epoch), wanted)


def _result(broker: Broker, deletion: _Deletion, deadline_ms: int) -> _Result | None:
    """What there is to say, or None while followers have not done it yet."""
    if not isinstance(deletion, _Begun):
        return deletion
    index, replica, partition = deletion.index, deletion.replica, deletion.replica.partition
    if partition.refusal(deletion.leader_epoch) is not ErrorCode.NONE:
        return _refused(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    low_watermark = _low_watermark(broker, replica)
    if low_watermark >= deletion.start_offset:
        return _Result(partition_index=index, low_watermark=low_watermark)
    if broker.delays.is_closed or broker.world.monotonic_ms() >= deadline_ms:
        return _refused(index, ErrorCode.REQUEST_TIMED_OUT)
    return None


def _low_watermark(broker: Broker, replica: HostedPartition) -> int:
    """Where the last of the living replicas begins; below all offsets while one has not said so in this leader epoch."""
    starts = [replica.log.log_start_offset]
    for node_id in replica.partition.replicas:
        node, progress = broker.image.node(node_id), replica.partition.follower(node_id)
        if progress is not None and node is not None and not node.fenced:
            starts.append(progress.log_start_offset)
    return min(starts)


def _refused(index: int, code: ErrorCode) -> _Result:
    return _Result(partition_index=index, low_watermark=INVALID_LOW_WATERMARK, error_code=code)

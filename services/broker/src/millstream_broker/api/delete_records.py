"""DeleteRecords (API key 21), versions 0 to 2: moves the start of partitions; -1 stands for the high watermark.

Of a partition that is named more than once the last offset counts.
"""

from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.effects import wake_all
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteRecordsRequest, DeleteRecordsResponse
from millstream_wire.messages.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult

HIGH_WATERMARK = -1
INVALID_LOW_WATERMARK = -1


def handle_delete_records(
    broker: Broker, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse:
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            wanted.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    topics = [
        DeleteRecordsTopicResult(
            name=name, partitions=[_delete(broker, name, index, offset) for index, offset in offsets.items()]
        )
        for name, offsets in wanted.items()
    ]
    return DeleteRecordsResponse(topics=topics)


def _delete(broker: Broker, topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
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
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=replica.log.log_start_offset)


def _refused(index: int, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=INVALID_LOW_WATERMARK, error_code=code)

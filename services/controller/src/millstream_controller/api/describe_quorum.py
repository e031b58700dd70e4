"""DescribeQuorum (55), versions 0 to 2: the active controller, its standbys as voters, brokers and coordinators as observers.

There is no quorum of our own to describe: a voter is a controller that follows and may take over. In a field of our own a client may ask
for the log's history, a part at a time, without what is secret (docs/decisions/history.md).
"""

from millstream_cluster.acls import AclOperation
from millstream_cluster.ids import METADATA_TOPIC
from millstream_controller.core.nodes.observers import Observer
from millstream_controller.shell.active import Active, NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeQuorumRequest, DescribeQuorumResponse
from millstream_wire.messages.describe_quorum import (
    History,
    Listener,
    Node,
    ReplicaState,
    RequestTopicData,
    ResponsePartitionData,
    ResponseTopicData,
)

LISTENER_NAME = "CONTROLLER"
HISTORY_BYTES_MAX = 1 << 20


async def handle_describe_quorum(
    controller: Controller, request: DescribeQuorumRequest, context: RequestContext
) -> DescribeQuorumResponse:
    try:
        refused = refuse_all(request, context, AclOperation.DESCRIBE)
        if refused is not None:
            return refused
        active = controller.active
    except NotActive:
        return DescribeQuorumResponse(error_code=ErrorCode.NOT_CONTROLLER)
    now_ms = controller.world.now_ms()
    elected = active.log.image.controller
    assert elected is not None, "an active controller has elected itself"
    listener = Listener(name=LISTENER_NAME, host=elected.host, port=elected.port)
    asked = [(topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in request.topics]
    if asked != [(METADATA_TOPIC, [0])]:
        return DescribeQuorumResponse(error_message="", topics=[_unknown(topic) for topic in request.topics])
    return DescribeQuorumResponse(
        error_message="",
        topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[_partition(active, now_ms)])],
        nodes=[Node(node_id=elected.controller_id, listeners=[listener])],
        history=_history(active, request.history_from) if request.history_from >= 0 else History(),
    )


def _history(active: Active, offset: int) -> History:
    first = active.log.start_offset
    records, next_offset = active.log.tell(max(offset, first), HISTORY_BYTES_MAX)
    return History(first_offset=first, next_offset=next_offset, records=records)


def _unknown(topic: RequestTopicData) -> ResponseTopicData:
    """Of a request for anything but the one partition that there is Kafka refuses every partition."""
    unknown = [
        ResponsePartitionData(
            partition_index=each.partition_index,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message="This server does not host this topic-partition.",
        )
        for each in topic.partitions
    ]
    return ResponseTopicData(topic_name=topic.topic_name, partitions=unknown)


def _partition(active: Active, now_ms: int) -> ResponsePartitionData:
    elected = active.log.image.controller
    assert elected is not None
    itself = ReplicaState(
        replica_id=elected.controller_id,
        log_end_offset=active.log.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    standbys = [each for each in active.observers if each.is_standby(now_ms)]
    observers = [each for each in active.observers if each.replica_id in active.log.image.nodes]
    return ResponsePartitionData(
        error_message="",
        leader_id=elected.controller_id,
        leader_epoch=elected.epoch,
        high_watermark=active.log.end_offset,
        current_voters=[itself, *(_state(each) for each in standbys)],
        observers=[_state(each) for each in observers],
    )


def _state(observer: Observer) -> ReplicaState:
    return ReplicaState(
        replica_id=observer.replica_id,
        log_end_offset=observer.log_end_offset,
        last_fetch_timestamp=observer.last_fetch_ms,
        last_caught_up_timestamp=observer.last_caught_up_ms,
    )

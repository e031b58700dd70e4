"""DescribeQuorum (API key 55): who keeps the metadata log and how far each follower is."""

from millstream_wire.schema import (
    OWN_TAGS,
    ZERO_UUID,
    Request,
    Response,
    batches,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uint16,
    uuid128,
)


@struct
class RequestPartitionData:
    partition_index: int32 = 0


@struct
class RequestTopicData:
    topic_name: string = ""
    partitions: list[RequestPartitionData] = field(default_factory=list)


@message(api_key=55, versions=(0, 2), flexible=0)
class DescribeQuorumRequest(Request["DescribeQuorumResponse"]):
    topics: list[RequestTopicData] = field(default_factory=list)
    history_from: int64 = field(default=-1, tag=OWN_TAGS)
    """The offset in the metadata log from which its records are wanted too."""


@struct
class ReplicaState:
    replica_id: int32 = 0
    replica_directory_id: uuid128 = field(default=ZERO_UUID, since=2)
    log_end_offset: int64 = 0
    last_fetch_timestamp: int64 = field(default=-1, since=1)
    last_caught_up_timestamp: int64 = field(default=-1, since=1)


@struct
class ResponsePartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = field(default=None, since=2)
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    high_watermark: int64 = 0
    current_voters: list[ReplicaState] = field(default_factory=list)
    observers: list[ReplicaState] = field(default_factory=list)


@struct
class ResponseTopicData:
    topic_name: string = ""
    partitions: list[ResponsePartitionData] = field(default_factory=list)


@struct
class Listener:
    name: string = field(default="", since=2)
    host: string = field(default="", since=2)
    port: uint16 = field(default=0, since=2)


@struct
class Node:
    node_id: int32 = field(default=0, since=2)
    listeners: list[Listener] = field(default_factory=list, since=2)


@struct
class History:
    """A part of the metadata log without what is secret. `next_offset` is the asked one where there is no more."""

    first_offset: int64 = -1
    """The oldest that is still kept; -1: of a node that tells no history."""
    next_offset: int64 = -1
    records: batches = b""


@message(api_key=55, versions=(0, 2), flexible=0)
class DescribeQuorumResponse(Response):
    error_code: int16 = 0
    error_message: string | None = field(default=None, since=2)
    topics: list[ResponseTopicData] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list, since=2)
    history: History = field(default_factory=History, tag=OWN_TAGS)

"""Metadata (API key 3): nodes, topics and who leads each partition."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    message,
    string,
    struct,
    uuid128,
)


@struct
class MetadataRequestTopic:
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    name: string | None = field(default="", nullable_since=10)


@message(api_key=3, versions=(0, 13), flexible=9)
class MetadataRequest(Request["MetadataResponse"]):
    topics: list[MetadataRequestTopic] | None = field(default_factory=list, nullable_since=1)
    allow_auto_topic_creation: boolean = field(default=True, since=4)
    include_cluster_authorized_operations: boolean = field(default=False, since=8, until=10)
    include_topic_authorized_operations: boolean = field(default=False, since=8)


@struct
class MetadataResponseBroker:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = field(default=None, since=1)


@struct
class MetadataResponsePartition:
    error_code: int16 = 0
    partition_index: int32 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = field(default=-1, since=7)
    replica_nodes: list[int32] = field(default_factory=list)
    isr_nodes: list[int32] = field(default_factory=list)
    offline_replicas: list[int32] = field(default_factory=list, since=5)


@struct
class MetadataResponseTopic:
    error_code: int16 = 0
    name: string | None = field(default="", nullable_since=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    is_internal: boolean = field(default=False, since=1)
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int32 = field(default=-2147483648, since=8)


@message(api_key=3, versions=(0, 13), flexible=9)
class MetadataResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=3)
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: string | None = field(default=None, since=2)
    controller_id: int32 = field(default=-1, since=1)
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int32 = field(default=-2147483648, since=8, until=10)
    error_code: int16 = field(default=0, since=13)

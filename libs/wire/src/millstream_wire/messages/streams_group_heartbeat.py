"""StreamsGroupHeartbeat (API key 88): join, stay in and leave a Kafka Streams group."""

from millstream_wire.schema import (
    Request,
    Response,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uint16,
)


@struct
class KeyValue:
    key: string = ""
    value: string = ""


@struct
class TopicInfo:
    name: string = ""
    partitions: int32 = 0
    replication_factor: int16 = 0
    topic_configs: list[KeyValue] = field(default_factory=list)


@struct
class CopartitionGroup:
    source_topics: list[int16] = field(default_factory=list)
    source_topic_regex: list[int16] = field(default_factory=list)
    repartition_source_topics: list[int16] = field(default_factory=list)


@struct
class Subtopology:
    subtopology_id: string = ""
    source_topics: list[string] = field(default_factory=list)
    source_topic_regex: list[string] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_sink_topics: list[string] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)


@struct
class Topology:
    epoch: int32 = 0
    subtopologies: list[Subtopology] = field(default_factory=list)


@struct
class TaskIds:
    subtopology_id: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class Endpoint:
    host: string = ""
    port: uint16 = 0


@struct
class TaskOffset:
    subtopology_id: string = ""
    partition: int32 = 0
    offset: int64 = 0


@message(api_key=88, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatRequest(Request["StreamsGroupHeartbeatResponse"]):
    group_id: string = ""
    member_id: string = ""
    member_epoch: int32 = 0
    endpoint_information_epoch: int32 = 0
    instance_id: string | None = None
    rack_id: string | None = None
    rebalance_timeout_ms: int32 = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: string | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: boolean = False


@struct
class Status:
    status_code: int8 = 0
    status_detail: string = ""


@struct
class TopicPartition:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class EndpointToPartitions:
    user_endpoint: Endpoint = field(default_factory=Endpoint)
    active_partitions: list[TopicPartition] = field(default_factory=list)
    standby_partitions: list[TopicPartition] = field(default_factory=list)


@message(api_key=88, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    member_id: string = ""
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    acceptable_recovery_lag: int32 = 0
    task_offset_interval_ms: int32 = 0
    status: list[Status] | None = field(default_factory=list)
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    endpoint_information_epoch: int32 = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None

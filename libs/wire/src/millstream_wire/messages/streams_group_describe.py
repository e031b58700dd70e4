"""StreamsGroupDescribe (API key 89): state, topology and members of Kafka Streams groups."""

from millstream_wire.schema import (
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uint16,
)


@message(api_key=89, versions=(0, 0), flexible=0)
class StreamsGroupDescribeRequest(Request["StreamsGroupDescribeResponse"]):
    group_ids: list[string] = field(default_factory=list)
    include_authorized_operations: boolean = False


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
class Subtopology:
    subtopology_id: string = ""
    source_topics: list[string] = field(default_factory=list)
    repartition_sink_topics: list[string] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)


@struct
class Topology:
    epoch: int32 = 0
    subtopologies: list[Subtopology] | None = None


@struct
class Endpoint:
    host: string = ""
    port: uint16 = 0


@struct
class TaskOffset:
    subtopology_id: string = ""
    partition: int32 = 0
    offset: int64 = 0


@struct
class TaskIds:
    subtopology_id: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class Assignment:
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)


@struct
class Member:
    member_id: string = ""
    member_epoch: int32 = 0
    instance_id: string | None = None
    rack_id: string | None = None
    client_id: string = ""
    client_host: string = ""
    topology_epoch: int32 = 0
    process_id: string = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = field(default_factory=list)
    task_offsets: list[TaskOffset] = field(default_factory=list)
    task_end_offsets: list[TaskOffset] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    is_classic: boolean = False


@struct
class DescribedGroup:
    error_code: int16 = 0
    error_message: string | None = None
    group_id: string = ""
    group_state: string = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    topology: Topology | None = None
    members: list[Member] = field(default_factory=list)
    authorized_operations: int32 = -2147483648


@message(api_key=89, versions=(0, 0), flexible=0)
class StreamsGroupDescribeResponse(Response):
    throttle_time_ms: int32 = 0
    groups: list[DescribedGroup] = field(default_factory=list)

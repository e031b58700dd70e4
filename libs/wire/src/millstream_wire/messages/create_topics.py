"""CreateTopics (API key 19): create topics."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    string,
    struct,
    uuid128,
)


@struct
class CreatableReplicaAssignment:
    partition_index: int32 = 0
    broker_ids: list[int32] = field(default_factory=list)


@struct
class CreatableTopicConfig:
    name: string = ""
    value: string | None = ""


@struct
class CreatableTopic:
    name: string = ""
    num_partitions: int32 = 0
    replication_factor: int16 = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)


@message(api_key=19, versions=(2, 7), flexible=5)
class CreateTopicsRequest(Request["CreateTopicsResponse"]):
    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: int32 = 60000
    validate_only: boolean = False


@struct
class CreatableTopicConfigs:
    name: string = field(default="", since=5)
    value: string | None = field(default="", since=5)
    read_only: boolean = field(default=False, since=5)
    config_source: int8 = field(default=-1, since=5)
    is_sensitive: boolean = field(default=False, since=5)


@struct
class CreatableTopicResult:
    name: string = ""
    topic_id: uuid128 = field(default=ZERO_UUID, since=7)
    error_code: int16 = 0
    error_message: string | None = None
    topic_config_error_code: int16 = field(default=0, since=5, tag=0)
    num_partitions: int32 = field(default=-1, since=5)
    replication_factor: int16 = field(default=-1, since=5)
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list, since=5)


@message(api_key=19, versions=(2, 7), flexible=5)
class CreateTopicsResponse(Response):
    throttle_time_ms: int32 = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)

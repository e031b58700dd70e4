"""CreatePartitions (API key 37): give topics more partitions."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, message, string, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int32] = field(default_factory=list)


@struct
class CreatePartitionsTopic:
    name: string = ""
    count: int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)


@message(api_key=37, versions=(0, 3), flexible=2)
class CreatePartitionsRequest(Request["CreatePartitionsResponse"]):
    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int32 = 0
    validate_only: boolean = False


@struct
class CreatePartitionsTopicResult:
    name: string = ""
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=37, versions=(0, 3), flexible=2)
class CreatePartitionsResponse(Response):
    throttle_time_ms: int32 = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)

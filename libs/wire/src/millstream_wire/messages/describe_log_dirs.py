"""DescribeLogDirs (API key 35): log directories of a broker and the size of what lies in them."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, int64, message, string, struct


@struct
class DescribableLogDirTopic:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@message(api_key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsRequest(Request["DescribeLogDirsResponse"]):
    topics: list[DescribableLogDirTopic] | None = field(default_factory=list)


@struct
class DescribeLogDirsPartition:
    partition_index: int32 = 0
    partition_size: int64 = 0
    offset_lag: int64 = 0
    is_future_key: boolean = False


@struct
class DescribeLogDirsTopic:
    name: string = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)


@struct
class DescribeLogDirsResult:
    error_code: int16 = 0
    log_dir: string = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: int64 = field(default=-1, since=4)
    usable_bytes: int64 = field(default=-1, since=4)
    is_cordoned: boolean = field(default=False, since=5)


@message(api_key=35, versions=(1, 5), flexible=2)
class DescribeLogDirsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=3)
    results: list[DescribeLogDirsResult] = field(default_factory=list)

"""OffsetFetch (API key 9): look up how far groups have read."""

from millstream_wire.schema import (
    ZERO_UUID,
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
    uuid128,
)


@struct
class OffsetFetchRequestTopic:
    name: string = field(default="", until=7)
    partition_indexes: list[int32] = field(default_factory=list, until=7)


@struct
class OffsetFetchRequestTopics:
    name: string = field(default="", since=8, until=9)
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    partition_indexes: list[int32] = field(default_factory=list, since=8)


@struct
class OffsetFetchRequestGroup:
    group_id: string = field(default="", since=8)
    member_id: string | None = field(default=None, since=9)
    member_epoch: int32 = field(default=-1, since=9)
    topics: list[OffsetFetchRequestTopics] | None = field(default_factory=list, since=8)


@message(api_key=9, versions=(1, 10), flexible=6)
class OffsetFetchRequest(Request["OffsetFetchResponse"]):
    group_id: string = field(default="", until=7)
    topics: list[OffsetFetchRequestTopic] | None = field(default_factory=list, until=7, nullable_since=2)
    groups: list[OffsetFetchRequestGroup] = field(default_factory=list, since=8)
    require_stable: boolean = field(default=False, since=7)


@struct
class OffsetFetchResponsePartition:
    partition_index: int32 = field(default=0, until=7)
    committed_offset: int64 = field(default=0, until=7)
    committed_leader_epoch: int32 = field(default=-1, since=5, until=7)
    metadata: string | None = field(default="", until=7)
    error_code: int16 = field(default=0, until=7)


@struct
class OffsetFetchResponseTopic:
    name: string = field(default="", until=7)
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list, until=7)


@struct
class OffsetFetchResponsePartitions:
    partition_index: int32 = field(default=0, since=8)
    committed_offset: int64 = field(default=0, since=8)
    committed_leader_epoch: int32 = field(default=-1, since=8)
    metadata: string | None = field(default="", since=8)
    error_code: int16 = field(default=0, since=8)


@struct
class OffsetFetchResponseTopics:
    name: string = field(default="", since=8, until=9)
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    partitions: list[OffsetFetchResponsePartitions] = field(default_factory=list, since=8)


@struct
class OffsetFetchResponseGroup:
    group_id: string = field(default="", since=8)
    topics: list[OffsetFetchResponseTopics] = field(default_factory=list, since=8)
    error_code: int16 = field(default=0, since=8)


@message(api_key=9, versions=(1, 10), flexible=6)
class OffsetFetchResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=3)
    topics: list[OffsetFetchResponseTopic] = field(default_factory=list, until=7)
    error_code: int16 = field(default=0, since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = field(default_factory=list, since=8)

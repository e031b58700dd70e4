"""OffsetForLeaderEpoch (API key 23): where a leader epoch ended."""

from millstream_wire.schema import Request, Response, field, int16, int32, int64, message, string, struct


@struct
class OffsetForLeaderPartition:
    partition: int32 = 0
    current_leader_epoch: int32 = -1
    leader_epoch: int32 = 0


@struct
class OffsetForLeaderTopic:
    topic: string = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)


@message(api_key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochRequest(Request["OffsetForLeaderEpochResponse"]):
    replica_id: int32 = field(default=-2, since=3)
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)


@struct
class EpochEndOffset:
    error_code: int16 = 0
    partition: int32 = 0
    leader_epoch: int32 = -1
    end_offset: int64 = -1


@struct
class OffsetForLeaderTopicResult:
    topic: string = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)


@message(api_key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochResponse(Response):
    throttle_time_ms: int32 = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)

"""ElectLeaders (API key 43): elect preferred or unclean leaders."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@struct
class TopicPartitions:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@message(api_key=43, versions=(0, 2), flexible=2)
class ElectLeadersRequest(Request["ElectLeadersResponse"]):
    election_type: int8 = field(default=0, since=1)
    topic_partitions: list[TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int32 = 60000


@struct
class PartitionResult:
    partition_id: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class ReplicaElectionResult:
    topic: string = ""
    partition_result: list[PartitionResult] = field(default_factory=list)


@message(api_key=43, versions=(0, 2), flexible=2)
class ElectLeadersResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=1)
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)

"""Fetch (API key 1): read record batches from partitions, as a consumer or as a follower."""

from millstream_wire.schema import (
    OWN_TAGS,
    ZERO_UUID,
    Request,
    Response,
    batches_or_null,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uuid128,
)


@struct
class ReplicaState:
    replica_id: int32 = field(default=-1, since=15)
    replica_epoch: int64 = field(default=-1, since=15)


@struct
class FetchPartition:
    partition: int32 = 0
    current_leader_epoch: int32 = field(default=-1, since=9)
    fetch_offset: int64 = 0
    last_fetched_epoch: int32 = field(default=-1, since=12)
    log_start_offset: int64 = field(default=-1, since=5)
    partition_max_bytes: int32 = 0
    replica_directory_id: uuid128 = field(default=ZERO_UUID, since=17, tag=0)
    high_watermark: int64 = field(default=9223372036854775807, since=18, tag=1)
    cannot_append: boolean = field(default=False, since=12, tag=OWN_TAGS)
    """Of followers: the log refused what the leader sent last, as on a full disk. Who is in sync cannot wait for it."""


@struct
class FetchTopic:
    topic: string = field(default="", until=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=13)
    partitions: list[FetchPartition] = field(default_factory=list)


@struct
class ForgottenTopic:
    topic: string = field(default="", since=7, until=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=13)
    partitions: list[int32] = field(default_factory=list, since=7)


@message(api_key=1, versions=(4, 18), flexible=12)
class FetchRequest(Request["FetchResponse"]):
    cluster_id: string | None = field(default=None, since=12, tag=0)
    replica_id: int32 = field(default=-1, until=14)
    replica_state: ReplicaState = field(default_factory=ReplicaState, since=15, tag=1)
    max_wait_ms: int32 = 0
    min_bytes: int32 = 0
    max_bytes: int32 = 2147483647
    isolation_level: int8 = 0
    session_id: int32 = field(default=0, since=7)
    session_epoch: int32 = field(default=-1, since=7)
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list, since=7)
    rack_id: string = field(default="", since=11)
    metadata_version: int16 = field(default=0, since=12, tag=OWN_TAGS)
    """The highest metadata.version that a follower of the metadata log can read; 0: it does not say."""


@struct
class EpochEndOffset:
    epoch: int32 = field(default=-1, since=12)
    end_offset: int64 = field(default=-1, since=12)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = field(default=-1, since=12)
    leader_epoch: int32 = field(default=-1, since=12)


@struct
class SnapshotId:
    end_offset: int64 = -1
    epoch: int32 = -1


@struct
class AbortedTransaction:
    producer_id: int64 = 0
    first_offset: int64 = 0


@struct
class PartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    high_watermark: int64 = 0
    last_stable_offset: int64 = -1
    log_start_offset: int64 = field(default=-1, since=5)
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId = field(default_factory=SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field(default_factory=list)
    preferred_read_replica: int32 = field(default=-1, since=11)
    records: batches_or_null = None
    may_have_gaps: boolean = field(default=False, since=12, tag=OWN_TAGS)
    """For followers: the log was compacted once, so offsets that are missing between its batches are no loss."""


@struct
class FetchableTopicResponse:
    topic: string = field(default="", until=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=13)
    partitions: list[PartitionData] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = field(default=0, since=16)
    host: string = field(default="", since=16)
    port: int32 = field(default=0, since=16)
    rack: string | None = field(default=None, since=16)


@message(api_key=1, versions=(4, 18), flexible=12)
class FetchResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = field(default=0, since=7)
    session_id: int32 = field(default=0, since=7)
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list, since=16, tag=0)

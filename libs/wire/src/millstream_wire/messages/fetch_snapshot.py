"""FetchSnapshot (API key 59): read a snapshot of the metadata log in pieces."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    batches,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uint16,
    uuid128,
)


@struct
class SnapshotId:
    end_offset: int64 = 0
    epoch: int32 = 0


@struct
class RequestPartitionSnapshot:
    partition: int32 = 0
    current_leader_epoch: int32 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    position: int64 = 0
    replica_directory_id: uuid128 = field(default=ZERO_UUID, since=1, tag=0)


@struct
class RequestTopicSnapshot:
    name: string = ""
    partitions: list[RequestPartitionSnapshot] = field(default_factory=list)


@message(api_key=59, versions=(0, 1), flexible=0)
class FetchSnapshotRequest(Request["FetchSnapshotResponse"]):
    cluster_id: string | None = field(default=None, tag=0)
    replica_id: int32 = -1
    max_bytes: int32 = 2147483647
    topics: list[RequestTopicSnapshot] = field(default_factory=list)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class ResponsePartitionSnapshot:
    index: int32 = 0
    error_code: int16 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch, tag=0)
    size: int64 = 0
    position: int64 = 0
    unaligned_records: batches = b""


@struct
class ResponseTopicSnapshot:
    name: string = ""
    partitions: list[ResponsePartitionSnapshot] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = field(default=0, since=1)
    host: string = field(default="", since=1)
    port: uint16 = field(default=0, since=1)


@message(api_key=59, versions=(0, 1), flexible=0)
class FetchSnapshotResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[ResponseTopicSnapshot] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list, since=1, tag=0)

"""DescribeCluster (API key 60): cluster id, brokers and controller."""

from millstream_wire.schema import Request, Response, boolean, field, int8, int16, int32, message, string, struct


@message(api_key=60, versions=(0, 2), flexible=0)
class DescribeClusterRequest(Request["DescribeClusterResponse"]):
    include_cluster_authorized_operations: boolean = False
    endpoint_type: int8 = field(default=1, since=1)
    include_fenced_brokers: boolean = field(default=False, since=2)


@struct
class DescribeClusterBroker:
    broker_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None
    is_fenced: boolean = field(default=False, since=2)


@message(api_key=60, versions=(0, 2), flexible=0)
class DescribeClusterResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    endpoint_type: int8 = field(default=1, since=1)
    cluster_id: string = ""
    controller_id: int32 = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int32 = -2147483648

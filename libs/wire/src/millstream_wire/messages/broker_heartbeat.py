"""BrokerHeartbeat (API key 63): a broker or coordinator stays unfenced, or asks to shut down."""

from millstream_wire.schema import OWN_TAGS, Request, Response, boolean, field, int16, int32, int64, message, uuid128


@message(api_key=63, versions=(0, 2), flexible=0)
class BrokerHeartbeatRequest(Request["BrokerHeartbeatResponse"]):
    broker_id: int32 = 0
    broker_epoch: int64 = -1
    current_metadata_offset: int64 = 0
    want_fence: boolean = False
    want_shut_down: boolean = False
    offline_log_dirs: list[uuid128] = field(default_factory=list, since=1, tag=0)
    cordoned_log_dirs: list[uuid128] | None = field(default=None, since=2, tag=1)
    replaceable_log_dirs: list[uuid128] = field(default_factory=list, tag=OWN_TAGS)
    """Offline ones whose partitions the others have room for; ours alone."""


@message(api_key=63, versions=(0, 2), flexible=0)
class BrokerHeartbeatResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    is_caught_up: boolean = False
    is_fenced: boolean = True
    should_shut_down: boolean = False

"""BrokerRegistration (API key 62): a broker or coordinator makes itself known to the controller."""

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
    uint16,
    uuid128,
)


@struct
class Listener:
    name: string = ""
    host: string = ""
    port: uint16 = 0
    security_protocol: int16 = 0


@struct
class Feature:
    name: string = ""
    min_supported_version: int16 = 0
    max_supported_version: int16 = 0


@message(api_key=62, versions=(0, 4), flexible=0)
class BrokerRegistrationRequest(Request["BrokerRegistrationResponse"]):
    broker_id: int32 = 0
    cluster_id: string = ""
    incarnation_id: uuid128 = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)
    rack: string | None = ""
    is_migrating_zk_broker: boolean = field(default=False, since=1)
    log_dirs: list[uuid128] = field(default_factory=list, since=2)
    previous_broker_epoch: int64 = field(default=-1, since=3)


@message(api_key=62, versions=(0, 4), flexible=0)
class BrokerRegistrationResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    broker_epoch: int64 = -1

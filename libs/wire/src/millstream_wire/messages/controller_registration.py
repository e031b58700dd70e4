"""ControllerRegistration (API key 70): a controller makes itself known to the active controller."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
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


@message(api_key=70, versions=(0, 0), flexible=0)
class ControllerRegistrationRequest(Request["ControllerRegistrationResponse"]):
    controller_id: int32 = 0
    incarnation_id: uuid128 = ZERO_UUID
    zk_migration_ready: boolean = False
    listeners: list[Listener] = field(default_factory=list)
    features: list[Feature] = field(default_factory=list)


@message(api_key=70, versions=(0, 0), flexible=0)
class ControllerRegistrationResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None

"""PushTelemetry (API key 72): metrics of a client."""

from millstream_wire.schema import ZERO_UUID, Request, Response, binary, boolean, int8, int16, int32, message, uuid128


@message(api_key=72, versions=(0, 0), flexible=0)
class PushTelemetryRequest(Request["PushTelemetryResponse"]):
    client_instance_id: uuid128 = ZERO_UUID
    subscription_id: int32 = 0
    terminating: boolean = False
    compression_type: int8 = 0
    metrics: binary = b""


@message(api_key=72, versions=(0, 0), flexible=0)
class PushTelemetryResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0

"""GetTelemetrySubscriptions (API key 71): which client metrics the cluster wants."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    string,
    uuid128,
)


@message(api_key=71, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsRequest(Request["GetTelemetrySubscriptionsResponse"]):
    client_instance_id: uuid128 = ZERO_UUID


@message(api_key=71, versions=(0, 0), flexible=0)
class GetTelemetrySubscriptionsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    client_instance_id: uuid128 = ZERO_UUID
    subscription_id: int32 = 0
    accepted_compression_types: list[int8] = field(default_factory=list)
    push_interval_ms: int32 = 0
    telemetry_max_bytes: int32 = 0
    delta_temporality: boolean = False
    requested_metrics: list[string] = field(default_factory=list)

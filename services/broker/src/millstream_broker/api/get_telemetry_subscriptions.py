"""GetTelemetrySubscriptions (API key 71), version 0: which of its metrics a client should push, and how often (KIP-714)."""

from millstream_broker.core.telemetry import ACCEPTED_COMPRESSION, BYTES_MAX
from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse
from millstream_wire.schema import ZERO_UUID


def handle_get_telemetry_subscriptions(
    broker: Broker, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> GetTelemetrySubscriptionsResponse:
    metrics = broker.client_metrics
    is_new = request.client_instance_id == ZERO_UUID
    instance_id = metrics.new_instance_id() if is_new else request.client_instance_id
    client = metrics.client(instance_id, context)
    error, wanted = metrics.telemetry.ask(client, metrics.subscriptions(), broker.world.monotonic_ms())
    if error:
        return GetTelemetrySubscriptionsResponse(error_code=error)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=wanted.id,
        accepted_compression_types=list(ACCEPTED_COMPRESSION),
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=BYTES_MAX,
        delta_temporality=True,
        requested_metrics=list(wanted.metrics),
    )

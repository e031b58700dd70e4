"""PushTelemetry (API key 72), version 0: a client's own metrics, shown at /metrics beside the broker's (KIP-714)."""

from millstream_broker.core.telemetry import Push
from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import PushTelemetryRequest, PushTelemetryResponse


def handle_push_telemetry(
    broker: Broker, request: PushTelemetryRequest, context: RequestContext
) -> PushTelemetryResponse:
    metrics = broker.client_metrics
    client = metrics.client(request.client_instance_id, context)
    push = Push(request.subscription_id, request.terminating, request.compression_type, bytes(request.metrics))
    error = metrics.telemetry.push(client, push, metrics.subscriptions(), broker.world.monotonic_ms())
    return PushTelemetryResponse(error_code=error)

"""GetTelemetrySubscriptions (71) and PushTelemetry (72), version 0: clients ask any node they know; a broker keeps what they tell."""

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)


async def handle_get_telemetry_subscriptions(
    coordinator: Coordinator, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> RawReply | GetTelemetrySubscriptionsResponse:
    try:
        return await coordinator.forward_to_broker(context.frame)
    except ClientError:
        return GetTelemetrySubscriptionsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def handle_push_telemetry(
    coordinator: Coordinator, request: PushTelemetryRequest, context: RequestContext
) -> RawReply | PushTelemetryResponse:
    try:
        return await coordinator.forward_to_broker(context.frame)
    except ClientError:
        return PushTelemetryResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

"""Handlers of what few clients ask for: each is imported with the first request of its kind, so that a broker starts without it."""

from collections.abc import Coroutine
from typing import Any

from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire import messages as m


def handle_share_fetch(
    broker: Broker, request: m.ShareFetchRequest, context: RequestContext
) -> m.ShareFetchResponse | Coroutine[Any, Any, m.ShareFetchResponse]:
    from millstream_broker.api.share_fetch import handle_share_fetch as handle

    return handle(broker, request, context)


def handle_share_acknowledge(
    broker: Broker, request: m.ShareAcknowledgeRequest, context: RequestContext
) -> m.ShareAcknowledgeResponse | Coroutine[Any, Any, m.ShareAcknowledgeResponse]:
    from millstream_broker.api.share_acknowledge import handle_share_acknowledge as handle

    return handle(broker, request, context)


def handle_get_telemetry_subscriptions(
    broker: Broker, request: m.GetTelemetrySubscriptionsRequest, context: RequestContext
) -> m.GetTelemetrySubscriptionsResponse:
    from millstream_broker.api.get_telemetry_subscriptions import handle_get_telemetry_subscriptions as handle

    return handle(broker, request, context)


def handle_push_telemetry(
    broker: Broker, request: m.PushTelemetryRequest, context: RequestContext
) -> m.PushTelemetryResponse:
    from millstream_broker.api.push_telemetry import handle_push_telemetry as handle

    return handle(broker, request, context)

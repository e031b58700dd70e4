"""IncrementalAlterConfigs (44), versions 0 and 1: this process's log levels are changed here, all else by the controller."""

from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.shell.broker import Broker
from millstream_runtime.log_levels import alter_log_levels, changes_log_levels
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse


async def handle_incremental_alter_configs(
    broker: Broker, request: IncrementalAlterConfigsRequest, context: RequestContext
) -> RawReply | IncrementalAlterConfigsResponse:
    if not changes_log_levels(request):
        return await handle_forwarded(broker, request, context)
    config = broker.config
    return await alter_log_levels(
        request, context, node_id=config.node_id, controllers=broker.controllers, timeout_ms=config.request_timeout_ms
    )

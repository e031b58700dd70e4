"""Metadata (API key 3), versions 0 to 13. Never creates topics: whoever wants to produce asks a broker next."""

from millstream_cluster.answers.metadata import any_live_broker, metadata
from millstream_cluster.ids import NO_NODE
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import CloseConnection, RequestContext
from millstream_wire.messages import MetadataRequest, MetadataResponse


def handle_metadata(coordinator: Coordinator, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    if any_live_broker(coordinator.image) == NO_NODE:
        # librdkafka takes an answer without nodes for one and waits a minute; without an answer it asks somebody else.
        raise CloseConnection("no live broker is known")
    return metadata(coordinator.image, request, context.version, listener_name=context.listener_name)

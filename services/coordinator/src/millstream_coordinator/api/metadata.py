"""Metadata (API key 3), versions 0 to 13. Never creates topics: whoever wants to produce asks a broker next."""

from millstream_cluster.answers.metadata import metadata
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import RequestContext
from millstream_wire.messages import MetadataRequest, MetadataResponse


def handle_metadata(coordinator: Coordinator, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    return metadata(coordinator.image, request, context.version, listener_name=context.listener_name)

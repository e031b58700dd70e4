"""FindCoordinator (API key 10), versions 0 to 6: groups only. The first request of all has `__consumer_offsets` created."""

from millstream_cluster.answers.find_coordinator import find_coordinator, needs_offsets_topic
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import RequestContext
from millstream_wire.messages import FindCoordinatorRequest, FindCoordinatorResponse


def handle_find_coordinator(
    coordinator: Coordinator, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if needs_offsets_topic(coordinator.image, request):
        coordinator.offsets_topic.want()
    return find_coordinator(coordinator.image, request, context.version, listener_name=context.listener_name)

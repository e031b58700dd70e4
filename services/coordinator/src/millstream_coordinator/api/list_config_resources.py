"""ListConfigResources (API key 74), versions 0 and 1."""

from millstream_cluster.answers.describe_configs import list_config_resources
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import ListConfigResourcesRequest, ListConfigResourcesResponse


def handle_list_config_resources(
    coordinator: Coordinator, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    return list_config_resources(coordinator.image, request, context.version)

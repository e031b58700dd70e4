"""ListConfigResources (API key 74), versions 0 and 1."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.describe_configs import list_config_resources
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import ListConfigResourcesRequest, ListConfigResourcesResponse


def handle_list_config_resources(
    broker: Broker, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    return list_config_resources(broker.image, request, context.version)

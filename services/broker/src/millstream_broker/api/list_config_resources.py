"""ListConfigResources (API key 74), versions 0 and 1."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_configs import list_config_resources
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.messages import ListConfigResourcesRequest, ListConfigResourcesResponse


def handle_list_config_resources(
    broker: Broker, request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    refused = refuse_all(request, context, AclOperation.DESCRIBE_CONFIGS)
    if refused is not None:
        return refused
    return list_config_resources(broker.image, request, context.version)

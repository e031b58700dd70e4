"""DescribeConfigs (API key 32), versions 1 to 4: topics, groups, client metrics, this broker and the brokers' defaults."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_configs import describe_configs
from millstream_runtime.log_levels import log_levels
from millstream_runtime.serving.config_rights import refuse_configs
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined
from millstream_wire.messages import DescribeConfigsRequest, DescribeConfigsResponse


def handle_describe_configs(
    broker: Broker, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    refused = refuse_configs(request, context, AclOperation.DESCRIBE_CONFIGS)
    config = broker.config
    described = describe_configs(
        broker.image, request, node_id=config.node_id, static=config.properties, log_levels=log_levels()
    )
    return joined(described, refused)

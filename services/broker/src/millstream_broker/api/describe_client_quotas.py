"""DescribeClientQuotas (API key 48), versions 0 and 1."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.describe_client_quotas import describe_client_quotas
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle_describe_client_quotas(
    broker: Broker, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    refused = refuse_all(request, context, AclOperation.DESCRIBE_CONFIGS)
    if refused is not None:
        return refused
    return describe_client_quotas(broker.image, request)

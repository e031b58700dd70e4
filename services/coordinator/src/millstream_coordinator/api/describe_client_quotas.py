"""DescribeClientQuotas (API key 48), versions 0 and 1."""

from millstream_cluster.answers.describe_client_quotas import describe_client_quotas
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle_describe_client_quotas(
    coordinator: Coordinator, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    return describe_client_quotas(coordinator.image, request)

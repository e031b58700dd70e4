"""DescribeCluster (API key 60), versions 0 to 2: brokers only, so that nobody places replicas on us."""

from millstream_cluster.answers.describe_cluster import describe_cluster
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import DescribeClusterRequest, DescribeClusterResponse


def handle_describe_cluster(
    coordinator: Coordinator, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    return describe_cluster(coordinator.image, request, listener_name=context.listener_name, may=context.may_what)

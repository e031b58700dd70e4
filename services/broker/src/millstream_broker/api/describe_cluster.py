"""DescribeCluster (API key 60), versions 0 to 2: brokers, not coordinators and not controllers."""

from collections.abc import Awaitable

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.describe_cluster import describe_cluster
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import DescribeClusterRequest, DescribeClusterResponse


def handle_describe_cluster(
    broker: Broker, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse | Awaitable[DescribeClusterResponse]:
    if broker.sees_cluster:
        return _answer(broker, request, context)
    return _answer_later(broker, request, context)


async def _answer_later(
    broker: Broker, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    await broker.until_it_sees_cluster()
    return _answer(broker, request, context)


def _answer(broker: Broker, request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    return describe_cluster(broker.image, request, listener_name=context.listener_name, may=context.may_what)

"""DescribeCluster (API key 60), versions 0 to 2, from an Image.

Brokers only: what this lists is where admin tools would place replicas, and coordinators take none.
"""

from millstream_cluster.acls import May
from millstream_cluster.answers.metadata import any_live_broker
from millstream_cluster.answers.operations import NOT_ASKED, cluster_operations
from millstream_cluster.image import Image
from millstream_cluster.members import Node
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeClusterRequest, DescribeClusterResponse
from millstream_wire.messages.describe_cluster import DescribeClusterBroker

BROKERS = 1
CONTROLLERS = 2


def describe_cluster(
    image: Image, request: DescribeClusterRequest, *, listener_name: str, may: May | None = None
) -> DescribeClusterResponse:
    """Answer as clients of `listener_name` see the cluster; only a controller can answer for controllers."""
    if request.endpoint_type != BROKERS:
        if request.endpoint_type == CONTROLLERS:
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
            message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        else:
            code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            message = f"Unsupported endpoint type {request.endpoint_type}"
        return DescribeClusterResponse(error_code=code, error_message=message)
    brokers = [node for node in image.brokers.values() if request.include_fenced_brokers or not node.fenced]
    return DescribeClusterResponse(
        cluster_id=image.cluster_id or "",
        controller_id=any_live_broker(image),
        brokers=[_broker(node, listener_name) for node in sorted(brokers, key=lambda node: node.node_id)],
        cluster_authorized_operations=(
            cluster_operations(may) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _broker(node: Node, listener_name: str) -> DescribeClusterBroker:
    endpoint = node.endpoint(listener_name)
    assert endpoint is not None, f"node {node.node_id} registered without a listener"
    return DescribeClusterBroker(
        broker_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack, is_fenced=node.fenced
    )

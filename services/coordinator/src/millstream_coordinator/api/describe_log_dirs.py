"""DescribeLogDirs (API key 35), versions 1 to 5: one directory without partitions.

Admin tools ask every node they see; an answer without any directory reads to them as a lack of permission.
"""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from millstream_wire.messages.describe_log_dirs import DescribeLogDirsResult


def handle_describe_log_dirs(
    coordinator: Coordinator, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    if not context.may(AclOperation.DESCRIBE, AclResource.CLUSTER):
        context.denied(AclOperation.DESCRIBE, AclResource.CLUSTER)
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)  # told since version 3
    directory = DescribeLogDirsResult(log_dir=f"/coordinator-{coordinator.config.node_id}")
    return DescribeLogDirsResponse(results=[directory])

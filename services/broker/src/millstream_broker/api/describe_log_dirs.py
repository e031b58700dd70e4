"""DescribeLogDirs (API key 35), versions 1 to 5: one directory, no replica on the way to another."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation, AclResource
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from millstream_wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def handle_describe_log_dirs(
    broker: Broker, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    """Describe the named partitions that are here, or all where none is named."""
    if not context.may(AclOperation.DESCRIBE, AclResource.CLUSTER):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)  # told since version 3
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    topics: dict[str, DescribeLogDirsTopic] = {}
    for replica in broker.partitions:
        if wanted is None or replica.name in wanted:
            topic = topics.setdefault(replica.topic, DescribeLogDirsTopic(name=replica.topic))
            topic.partitions.append(
                DescribeLogDirsPartition(partition_index=replica.index, partition_size=replica.log.size)
            )
    total_bytes, usable_bytes = broker.log_dir_space()
    result = DescribeLogDirsResult(
        log_dir=str(broker.config.data_dir.absolute()),
        topics=list(topics.values()),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
    return DescribeLogDirsResponse(results=[result])

"""DescribeLogDirs (API key 35), versions 1 to 5: the partitions of each directory, those on their way to it
included; one that failed is named with its error."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation, AclResource
from millstream_log import DataDir
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
        context.denied(AclOperation.DESCRIBE, AclResource.CLUSTER)
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)  # told since version 3
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    directories = broker.partitions.directories
    results = [_described(broker, directory, wanted) for directory in directories.online]
    results += [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(each.path.absolute()))
        for each in directories.offline
    ]
    return DescribeLogDirsResponse(results=results)


def _described(broker: Broker, directory: DataDir, wanted: set[tuple[str, int]] | None) -> DescribeLogDirsResult:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for replica in broker.partitions:
        if replica.directory is directory and (wanted is None or replica.name in wanted):
            topic = topics.setdefault(replica.topic, DescribeLogDirsTopic(name=replica.topic))
            topic.partitions.append(
                DescribeLogDirsPartition(partition_index=replica.index, partition_size=replica.log.size)
            )
    for move in broker.moves or ():
        replica = move.replica
        if move.future.directory is directory and (wanted is None or replica.name in wanted):
            topic = topics.setdefault(replica.topic, DescribeLogDirsTopic(name=replica.topic))
            size, lag = move.future.size, move.lag
            topic.partitions.append(
                DescribeLogDirsPartition(
                    partition_index=replica.index, partition_size=size, offset_lag=lag, is_future_key=True
                )
            )
    try:
        total_bytes, usable_bytes = broker.log_dir_space(directory.path)
    except OSError as error:  # it has just failed, or is the last one, which stays in use
        broker.partitions.directories.on_error(directory.path, error)
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(directory.path.absolute()))
    return DescribeLogDirsResult(
        log_dir=str(directory.path.absolute()),
        topics=list(topics.values()),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        is_cordoned=broker.partitions.directories.is_cordoned(directory.path),
    )

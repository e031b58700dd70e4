"""AlterReplicaLogDirs (API key 34), versions 1 and 2: replicas move to another directory of this broker while they serve.

A replica that is there already stays, and so does one that was on its way elsewhere. Where a partition should go that is not here
yet is remembered until it comes (KIP-113), by this process.
"""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation
from millstream_log import DataDir, LogError, TopicPartition
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from millstream_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirTopicResult,
)

NAME_MAX = 255
FUTURE = f".{'0' * 32}-future"
"""What Kafka adds to a partition's name for the directory that it copies into."""


def handle_alter_replica_log_dirs(
    broker: Broker, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    """Of a partition's directories, the last counts."""
    refused = refuse_all(request, context, AclOperation.ALTER)
    if refused is not None:
        return refused
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (topic, index), path in wanted.items():
        result = results.setdefault(topic, AlterReplicaLogDirTopicResult(topic_name=topic))
        code = _outcome(broker, topic, index, path)
        result.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _outcome(broker: Broker, topic: str, index: int, path: str) -> ErrorCode:
    if len(f"{topic}-{index}{FUTURE}") > NAME_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    directories = broker.partitions.directories
    if path in [str(each.path.absolute()) for each in directories.offline]:
        return ErrorCode.KAFKA_STORAGE_ERROR
    target = next((each for each in directories.online if str(each.path.absolute()) == path), None)
    if target is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if broker.partitions.find(topic, index) is not None:
        return _begin(broker, topic, index, target)
    directories.prefer(TopicPartition(topic, index), target)
    absence = broker.locate(topic, index)
    assert isinstance(absence, ErrorCode), "there is no such replica"
    return absence


def _begin(broker: Broker, topic: str, index: int, target: DataDir) -> ErrorCode:
    replica = broker.partitions.find(topic, index)
    assert replica is not None, "asked for before"
    if broker.moves is None:
        return ErrorCode.NONE if replica.directory is target else ErrorCode.REPLICA_NOT_AVAILABLE
    try:
        broker.moves.begin(replica, target)
    except (OSError, LogError):
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE

"""AlterReplicaLogDirs (API key 34), versions 1 and 2: to the one directory there is; a replica that is in it stays."""

from millstream_broker.shell.broker import Broker
from millstream_runtime.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from millstream_wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirTopicResult,
)


def handle_alter_replica_log_dirs(
    broker: Broker, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    here = str(broker.config.data_dir.absolute())
    for directory in request.dirs:
        for topic in directory.topics:
            result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name))
            for index in topic.partitions:
                code = _outcome(broker, topic.name, index) if directory.path == here else ErrorCode.LOG_DIR_NOT_FOUND
                result.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _outcome(broker: Broker, topic: str, index: int) -> ErrorCode:
    if broker.replicas.find(topic, index) is not None:
        return ErrorCode.NONE
    absence = broker.locate(topic, index)
    assert isinstance(absence, ErrorCode), "there is no such replica"
    return absence

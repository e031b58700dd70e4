"""OffsetCommit (API key 8), versions 2 to 10; from version 10 topics are named by their ids.

A retention time that a client asks for (until version 4) is not kept to: the coordinator's own applies, as in Kafka 4.
"""

from collections.abc import Iterator

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit, commit
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.offset_rights import permits_topic
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_all, refuse_where
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetCommitRequest, OffsetCommitResponse
from millstream_wire.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

GROUP_ID_NOT_FOUND_SINCE = 9
TOPIC_IDS_SINCE = 10


async def handle_offset_commit(
    coordinator: Coordinator, request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse:
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    by_id = context.version >= TOPIC_IDS_SINCE
    may_read = permits_topic(coordinator.image, context, AclOperation.READ, by_id=by_id)
    denied = refuse_where(request, context, "topics", may_read, AclOperation.READ)
    if denied is not None and not request.topics:
        return denied
    return joined(await _commit(coordinator, request, context), denied)


async def _commit(
    coordinator: Coordinator, request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse:
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    response = OffsetCommitResponse()
    accepted: list[OffsetToCommit] = []
    answers: list[OffsetCommitResponsePartition] = []
    for topic in request.topics:
        answer = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(answer)
        for partition, offset in _offsets(coordinator, topic, context.version):
            error = offset if isinstance(offset, ErrorCode) else ErrorCode.NONE
            answered = OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
            answer.partitions.append(answered)
            if not isinstance(offset, ErrorCode):
                accepted.append(offset)
                answers.append(answered)
    wanted = CommitRequest(
        group_id=request.group_id,
        generation=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        offsets=tuple(accepted),
        names_missing_group=context.version >= GROUP_ID_NOT_FOUND_SINCE,
        knows_epochs=context.version >= GROUP_ID_NOT_FOUND_SINCE,
    )
    outcome = await coordinator.committed(groups.execute(lambda shard, now_ms: commit(shard, wanted, now_ms)))
    for answered in answers:
        answered.error_code = outcome
    if outcome is ErrorCode.NONE:
        coordinator.shards.commits += len(accepted)
    return response


def _offsets(
    coordinator: Coordinator, topic: OffsetCommitRequestTopic, version: int
) -> Iterator[tuple[OffsetCommitRequestPartition, OffsetToCommit | ErrorCode]]:
    """What to commit for each partition, or why it cannot be."""
    by_id = version >= TOPIC_IDS_SINCE
    found = coordinator.image.topic(topic.topic_id if by_id else topic.name)
    missing = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for partition in topic.partitions:
        metadata = partition.committed_metadata or ""
        if found is None:
            yield partition, missing
        elif not 0 <= partition.partition_index < len(found.partitions):
            yield partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif len(metadata) > coordinator.config.offset_metadata_max_bytes:
            yield partition, ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            yield (
                partition,
                OffsetToCommit(
                    topic=found.name,
                    topic_id=found.topic_id,
                    partition=partition.partition_index,
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=metadata,
                ),
            )

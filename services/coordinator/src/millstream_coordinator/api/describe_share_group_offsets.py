"""DescribeShareGroupOffsets (API key 90), versions 0 and 1: where share groups go on in partitions, and (1) how far that is
from the end. A group that has not begun in a partition is at -1 there, and so is one that nobody has heard of, as in Kafka.
"""

from collections.abc import Mapping

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions, TopicIdPartition, by_topic
from millstream_coordinator.core.group.policy import InitialOffset
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.share_state.state import NOT_BEGUN
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse
from millstream_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from millstream_wire.messages.read_share_group_state_summary import PartitionResult

UNKNOWN_LAG = -1


async def handle_describe_share_group_offsets(
    coordinator: Coordinator, request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    refused = refuse_some(
        request, context, "groups", AclOperation.DESCRIBE, AclResource.GROUP, name=lambda asked: asked.group_id
    )
    described = [await _describe(coordinator, group, context) for group in request.groups]
    return joined(DescribeShareGroupOffsetsResponse(groups=described), refused)


async def _describe(
    coordinator: Coordinator, asked: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> DescribeShareGroupOffsetsResponseGroup:
    described = DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id)
    if not feature_level(coordinator.image.feature_levels, SHARE_VERSION):
        described.error_code = ErrorCode.UNSUPPORTED_VERSION
        return described
    kept = await coordinator.look(asked.group_id, lambda shard: _kept(shard, asked.group_id))
    if isinstance(kept, ErrorCode):
        described.error_code = kept
        return described
    named = _all(coordinator, kept) if asked.topics is None else asked.topics
    topics = [each for each in named if context.may(AclOperation.DESCRIBE, AclResource.TOPIC, each.topic_name)]
    wanted = [
        (topic.topic_id, number)
        for each in topics
        if (topic := coordinator.image.topic(each.topic_name)) is not None
        for number in each.partitions
        if coordinator.image.partition(topic.topic_id, number) is not None
    ]
    summaries = await coordinator.share_state_nodes.summaries(asked.group_id, wanted)
    ends = await _ends(coordinator, summaries)
    for each in topics:
        described.topics.append(_topic(coordinator, each, summaries, ends))
    if asked.topics is not None:
        refused = [each for each in asked.topics if each not in topics]
        for each in refused:
            context.denied(AclOperation.DESCRIBE, AclResource.TOPIC, each.topic_name)
        described.topics += [_refused(each) for each in refused]
    return described


def _refused(asked: DescribeShareGroupOffsetsRequestTopic) -> DescribeShareGroupOffsetsResponseTopic:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(partition_index=number, start_offset=NOT_BEGUN, error_code=code)
            for number in asked.partitions
        ],
    )


def _kept(shard: GroupShard, group_id: str) -> Partitions:
    group = shard.shares.get(group_id)
    return NO_PARTITIONS if group is None else group.kept.initializing | group.kept.initialized


def _all(coordinator: Coordinator, kept: Partitions) -> list[DescribeShareGroupOffsetsRequestTopic]:
    return [
        DescribeShareGroupOffsetsRequestTopic(topic_name=topic.name, partitions=numbers)
        for topic_id, numbers in by_topic(kept)
        if (topic := coordinator.image.topic(topic_id)) is not None
    ]


async def _ends(
    coordinator: Coordinator, summaries: Mapping[TopicIdPartition, PartitionResult]
) -> Mapping[tuple[str, int], int]:
    """Where the partitions end that the group has begun in; nothing if one of their leaders does not say."""
    image = coordinator.image
    begun = [
        (topic.name, number)
        for (topic_id, number), summary in summaries.items()
        if summary.start_offset != NOT_BEGUN and (topic := image.topic(topic_id)) is not None
    ]
    return await coordinator.initial_offsets.find(begun, InitialOffset.LATEST) or {}


def _topic(
    coordinator: Coordinator,
    asked: DescribeShareGroupOffsetsRequestTopic,
    summaries: Mapping[TopicIdPartition, PartitionResult],
    ends: Mapping[tuple[str, int], int],
) -> DescribeShareGroupOffsetsResponseTopic:
    described = DescribeShareGroupOffsetsResponseTopic(topic_name=asked.topic_name)
    topic = coordinator.image.topic(asked.topic_name)
    if topic is not None:
        described.topic_id = topic.topic_id
    for number in asked.partitions:
        partition = DescribeShareGroupOffsetsResponsePartition(partition_index=number, start_offset=NOT_BEGUN)
        described.partitions.append(partition)
        if topic is None:
            continue  # where nobody has begun: as in Kafka no error
        if coordinator.image.partition(topic.topic_id, number) is None:
            partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        summary = summaries.get((topic.topic_id, number))
        if summary is None:
            partition.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            continue
        partition.error_code, partition.error_message = summary.error_code, summary.error_message
        partition.start_offset, partition.leader_epoch = summary.start_offset, summary.leader_epoch
        partition.lag = _lag(summary, ends.get((topic.name, number)))
    return described


def _lag(summary: PartitionResult, end: int | None) -> int:
    """Records that the group has yet to be done with, or UNKNOWN_LAG."""
    if end is None or summary.start_offset == NOT_BEGUN or summary.delivery_complete_count < 0:
        return UNKNOWN_LAG
    # Less than nothing where the group was told to begin behind the partition's end: as in Kafka.
    return end - summary.start_offset - summary.delivery_complete_count

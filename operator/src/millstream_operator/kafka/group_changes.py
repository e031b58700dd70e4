"""What changes a group over the admin protocol: its offsets, its configs, its end."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from millstream_cluster.offset_resets import Partition
from millstream_operator.kafka.cluster import KafkaCluster, check
from millstream_operator.kafka.groups import CONSUMER, GROUP_RESOURCE, coordinator_of
from millstream_operator.kafka.topics import DELETE, SET
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream_wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from millstream_wire.messages.delete_groups import DeleteGroupsRequest
from millstream_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from millstream_wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream_wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

OFFSET_COMMIT_VERSION = 9
"""The highest that names topics."""
LEAVE_EPOCH = -1
"""For good; a static member that means to come back says -2."""


async def set_offsets(
    cluster: KafkaCluster, group_id: str, offsets: Mapping[Partition, int | None], *, is_share: bool = False
) -> None:
    """As an admin commits for a group that nobody is in. None: nothing is committed there any more."""
    known = {each: offset for each, offset in offsets.items() if offset is not None}
    if is_share:
        await _set_share_offsets(cluster, group_id, known)
        return
    await _commit(cluster, group_id, known)
    await _forget(cluster, group_id, [each for each, offset in offsets.items() if offset is None])


async def _commit(cluster: KafkaCluster, group_id: str, offsets: Mapping[Partition, int]) -> None:
    if not offsets:
        return
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, index), offset in sorted(offsets.items()):
        by_topic[topic].append(OffsetCommitRequestPartition(partition_index=index, committed_offset=offset))
    topics = [OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    request = OffsetCommitRequest(group_id=group_id, topics=topics)
    coordinator = await coordinator_of(cluster, group_id)
    answer = await cluster.request(request, at=coordinator, version=OFFSET_COMMIT_VERSION)
    _check_partitions(answer.topics)


async def _forget(cluster: KafkaCluster, group_id: str, partitions: list[Partition]) -> None:
    if not partitions:
        return
    by_topic: dict[str, list[OffsetDeleteRequestPartition]] = defaultdict(list)
    for topic, index in sorted(partitions):
        by_topic[topic].append(OffsetDeleteRequestPartition(partition_index=index))
    topics = [OffsetDeleteRequestTopic(name=name, partitions=each) for name, each in by_topic.items()]
    coordinator = await coordinator_of(cluster, group_id)
    answer = await cluster.request(OffsetDeleteRequest(group_id=group_id, topics=topics), at=coordinator)
    check(answer.error_code)
    _check_partitions(answer.topics)


async def _set_share_offsets(cluster: KafkaCluster, group_id: str, offsets: Mapping[Partition, int]) -> None:
    by_topic: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = defaultdict(list)
    for (topic, index), offset in sorted(offsets.items()):
        by_topic[topic].append(AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset))
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=each) for name, each in by_topic.items()]
    coordinator = await coordinator_of(cluster, group_id)
    request = AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)
    answer = await cluster.request(request, at=coordinator)
    check(answer.error_code, answer.error_message)
    _check_partitions(answer.responses)


def _check_partitions(topics: list[Any]) -> None:
    for topic in topics:
        for partition in topic.partitions:
            check(partition.error_code)


async def set_configs(cluster: KafkaCluster, group_id: str, changes: Mapping[str, str | None]) -> None:
    configs = [
        AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in sorted(changes.items())
    ]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configs=configs)
    answer = await cluster.request(IncrementalAlterConfigsRequest(resources=[resource]))
    [result] = answer.responses
    check(result.error_code, result.error_message)


async def remove_static_members(
    cluster: KafkaCluster, group_id: str, members: Mapping[str, str], group_type: str
) -> None:
    """`members`: ids by instance ids. Who is gone already is gone."""
    coordinator = await coordinator_of(cluster, group_id)
    if group_type == CONSUMER:
        for instance_id, member_id in members.items():
            leave = ConsumerGroupHeartbeatRequest(
                group_id=group_id, member_id=member_id, member_epoch=LEAVE_EPOCH, instance_id=instance_id
            )
            answer = await cluster.request(leave, at=coordinator)
            if answer.error_code != ErrorCode.UNKNOWN_MEMBER_ID:
                check(answer.error_code, answer.error_message)
        return
    identities = [MemberIdentity(group_instance_id=each, reason="its pod is gone") for each in members]
    answer = await cluster.request(LeaveGroupRequest(group_id=group_id, members=identities), at=coordinator)
    check(answer.error_code)
    for left in answer.members:
        if left.error_code != ErrorCode.UNKNOWN_MEMBER_ID:
            check(left.error_code)


async def delete(cluster: KafkaCluster, group_id: str) -> None:
    """Only an empty group goes; one that is not there is gone already."""
    coordinator = await coordinator_of(cluster, group_id)
    answer = await cluster.request(DeleteGroupsRequest(groups_names=[group_id]), at=coordinator)
    [result] = answer.results
    if result.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        check(result.error_code)

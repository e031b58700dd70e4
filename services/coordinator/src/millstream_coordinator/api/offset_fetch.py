"""OffsetFetch (API key 9), versions 1 to 10: one group until version 7, then several; topic ids from version 10.

A group whose configuration says where it begins is begun there. With `require_stable` an offset that a transaction under way may replace is refused: UNSTABLE_OFFSET_COMMIT.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.records import ResourceType
from millstream_coordinator.core.commands.offsets import begin
from millstream_coordinator.core.consumer.commits import NO_EPOCH, fetch_refusal
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.group.policy import GroupPolicy, InitialOffset
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import CommittedOffset
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.offset_rights import permits_topic
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_all, refuse_some
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetFetchRequest, OffsetFetchResponse
from millstream_wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

TOP_ERROR_SINCE = 2
BATCHED_SINCE = 8
TOPIC_IDS_SINCE = 10
NO_OFFSET = CommittedOffset(offset=-1, commit_timestamp_ms=-1)
UNSTABLE = CommittedOffset(offset=-1, commit_timestamp_ms=-2)
"""Stands for an offset that a transaction under way may replace, where the client wants none that can change."""

Offsets = Mapping[TopicPartition, CommittedOffset]
Look = Callable[[GroupShard], Offsets | ErrorCode]

logger = logging.getLogger(__name__)


async def handle_offset_fetch(
    coordinator: Coordinator, request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse:
    version = context.version
    if version < BATCHED_SINCE:
        denied = refuse_all(request, context, AclOperation.DESCRIBE, AclResource.GROUP, request.group_id)
        if denied is not None:
            # Since version 2 there is a place for it at the top, and nothing else is said.
            return denied if version < TOP_ERROR_SINCE else OffsetFetchResponse(error_code=denied.error_code)
        denied = refuse_some(request, context, "topics", AclOperation.DESCRIBE)
        wanted = [(topic.name, number) for topic in request.topics or () for number in topic.partition_indexes]
        look = _look(request.group_id, None, NO_EPOCH, stable=request.require_stable)
        offsets = await _offsets_of(coordinator, request.group_id, wanted, look)
        if isinstance(offsets, ErrorCode):
            return error_response(request, version, offsets)
        return joined(_one_group(request, _shown(offsets, context)), denied)
    async with asyncio.TaskGroup() as tasks:
        found = [
            tasks.create_task(_group(coordinator, group, context, stable=request.require_stable))
            for group in request.groups
        ]
    return OffsetFetchResponse(groups=[each.result() for each in found])


def _shown(offsets: Offsets, context: RequestContext) -> Offsets:
    """Without those of topics that may not be described, for who asks for all."""
    if context.may_what is None:
        return offsets
    return {
        key: value for key, value in offsets.items() if context.may(AclOperation.DESCRIBE, AclResource.TOPIC, key[0])
    }


async def _offsets_of(
    coordinator: Coordinator, group_id: str, wanted: Sequence[TopicPartition], look: Look
) -> Offsets | ErrorCode:
    groups = coordinator.groups_of(group_id)
    if isinstance(groups, ErrorCode):
        return groups
    offsets = await coordinator.committed(groups.read(look))
    initial = _initial_offset_of(coordinator, group_id)
    if initial is InitialOffset.NONE or isinstance(offsets, ErrorCode):
        return offsets
    missing = [each for each in wanted if each not in offsets and coordinator.image.partition(*each) is not None]
    if not missing:
        return offsets
    found = await coordinator.initial_offsets.find(missing, initial)
    if found is None:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # what every client takes for: ask again
    await coordinator.committed(groups.execute(lambda shard, now_ms: begin(shard, group_id, found, now_ms)))
    logger.info("group began group=%s partitions=%d at=%s", group_id, len(found), initial)
    return await coordinator.committed(groups.read(look))


def _initial_offset_of(coordinator: Coordinator, group_id: str) -> InitialOffset:
    return GroupPolicy.of_configs(coordinator.image.config(ResourceType.GROUP, group_id)).initial_offset


def _look(group_id: str, member_id: str | None, member_epoch: int, *, stable: bool) -> Look:
    def look(shard: GroupShard) -> Offsets | ErrorCode:
        group = shard.consumers.get(group_id)
        error = ErrorCode.NONE if group is None else fetch_refusal(group, member_id, member_epoch)
        # A copy: commits that come while the answer waits are not in it.
        offsets = dict(shard.offsets.get(group_id, {}))
        if stable:
            offsets.update({(each.topic, each.partition): UNSTABLE for each in shard.pending.of_group(group_id)})
        return error or offsets

    return look


def _one_group(request: OffsetFetchRequest, offsets: Offsets) -> OffsetFetchResponse:
    if request.topics is None:
        asked = _by_topic(offsets)
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    response = OffsetFetchResponse()
    for name, partitions in asked:
        topic = OffsetFetchResponseTopic(name=name)
        for index in partitions:
            committed = offsets.get((name, index), NO_OFFSET)
            topic.partitions.append(
                OffsetFetchResponsePartition(
                    partition_index=index,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if committed is UNSTABLE else ErrorCode.NONE,
                )
            )
        response.topics.append(topic)
    return response


async def _group(
    coordinator: Coordinator, group: OffsetFetchRequestGroup, context: RequestContext, *, stable: bool
) -> OffsetFetchResponseGroup:
    if not context.may(AclOperation.DESCRIBE, AclResource.GROUP, group.group_id):
        context.denied(AclOperation.DESCRIBE, AclResource.GROUP, group.group_id)
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    by_id = context.version >= TOPIC_IDS_SINCE
    is_permitted = permits_topic(coordinator.image, context, AclOperation.DESCRIBE, by_id=by_id)
    refused = [asked for asked in group.topics or () if not is_permitted(asked)]
    if refused:
        group.topics = [asked for asked in group.topics or () if is_permitted(asked)]
    wanted = list(_wanted(coordinator, group, by_id=by_id))
    look = _look(group.group_id, group.member_id, group.member_epoch, stable=stable)
    offsets = await _offsets_of(coordinator, group.group_id, wanted, look)
    if isinstance(offsets, ErrorCode):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=offsets)
    response = OffsetFetchResponseGroup(group_id=group.group_id)
    if group.topics is None:
        for name, partitions in _by_topic(_shown(offsets, context)):
            topic = coordinator.image.topic(name)
            if topic is not None or not by_id:
                response.topics.append(_topic(name, partitions, offsets))
                if topic is not None:
                    response.topics[-1].topic_id = topic.topic_id
        return response
    for asked in group.topics:
        response.topics.append(_asked_topic(coordinator, asked, offsets, by_id=by_id))
    for asked in refused:
        context.denied(AclOperation.DESCRIBE, AclResource.TOPIC, asked.name or str(asked.topic_id))
        response.topics.append(_topic(asked.name, asked.partition_indexes, {}, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        response.topics[-1].topic_id = asked.topic_id
    return response


def _wanted(coordinator: Coordinator, group: OffsetFetchRequestGroup, *, by_id: bool) -> Iterator[TopicPartition]:
    for asked in group.topics or ():
        topic = coordinator.image.topic(asked.topic_id if by_id else asked.name)
        if topic is not None:
            yield from ((topic.name, number) for number in asked.partition_indexes)


def _asked_topic(
    coordinator: Coordinator, asked: OffsetFetchRequestTopics, offsets: Offsets, *, by_id: bool
) -> OffsetFetchResponseTopics:
    if not by_id:
        return _topic(asked.name, asked.partition_indexes, offsets)
    topic = coordinator.image.topic(asked.topic_id)
    if topic is not None:
        found = _topic(topic.name, asked.partition_indexes, offsets)
    else:
        found = _topic("", asked.partition_indexes, {}, ErrorCode.UNKNOWN_TOPIC_ID)
    found.topic_id = asked.topic_id
    return found


def _topic(
    name: str, partitions: Sequence[int], offsets: Offsets, error: ErrorCode = ErrorCode.NONE
) -> OffsetFetchResponseTopics:
    topic = OffsetFetchResponseTopics(name=name)
    for index in partitions:
        committed = offsets.get((name, index), NO_OFFSET)
        topic.partitions.append(
            OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if committed is UNSTABLE else error,
            )
        )
    return topic


def _by_topic(offsets: Offsets) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in offsets:
        topics.setdefault(topic, []).append(partition)
    return [(topic, sorted(partitions)) for topic, partitions in topics.items()]

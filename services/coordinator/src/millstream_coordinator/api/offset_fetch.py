"""OffsetFetch (API key 9), versions 1 to 10: one group until version 7, then several; topic ids from version 10.

With `require_stable` an offset that a transaction under way may replace is refused: UNSTABLE_OFFSET_COMMIT.
"""

import asyncio
from collections.abc import Mapping, Sequence

from millstream_cluster.answers.refusal import refuse_group
from millstream_coordinator.core.consumer.commits import NO_EPOCH, fetch_refusal
from millstream_coordinator.core.records import CommittedOffset
from millstream_coordinator.core.shard import Shard, TopicPartition
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import RequestContext
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
from millstream_wire.schema import Response

BATCHED_SINCE = 8
TOPIC_IDS_SINCE = 10
NO_OFFSET = CommittedOffset(offset=-1, commit_timestamp_ms=-1)
UNSTABLE = CommittedOffset(offset=-1, commit_timestamp_ms=-2)
"""Stands for an offset that a transaction under way may replace, where the client wants none that can change."""

Offsets = Mapping[TopicPartition, CommittedOffset]


async def handle_offset_fetch(
    coordinator: Coordinator, request: OffsetFetchRequest, context: RequestContext
) -> Response:
    version = context.version
    if version < BATCHED_SINCE:
        offsets = await _offsets_of(coordinator, request.group_id, None, NO_EPOCH, stable=request.require_stable)
        if isinstance(offsets, ErrorCode):
            return refuse_group(request, version, offsets)
        return _one_group(request, offsets)
    async with asyncio.TaskGroup() as tasks:
        found = [
            tasks.create_task(_group(coordinator, group, version, stable=request.require_stable))
            for group in request.groups
        ]
    return OffsetFetchResponse(groups=[each.result() for each in found])


async def _offsets_of(
    coordinator: Coordinator, group_id: str, member_id: str | None, member_epoch: int, *, stable: bool
) -> Offsets | ErrorCode:
    groups = coordinator.groups_of(group_id)
    if isinstance(groups, ErrorCode):
        return groups

    def look(shard: Shard) -> Offsets | ErrorCode:
        group = shard.consumers.get(group_id)
        error = fetch_refusal(group, member_id, member_epoch) if group_id not in shard.groups else ErrorCode.NONE
        # A copy: commits that come while the answer waits are not in it.
        offsets = dict(shard.offsets.get(group_id, {}))
        if stable:
            offsets.update({(each.topic, each.partition): UNSTABLE for each in shard.pending.of_group(group_id)})
        return error or offsets

    return await coordinator.committed(groups.read(look))


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
    coordinator: Coordinator, group: OffsetFetchRequestGroup, version: int, *, stable: bool
) -> OffsetFetchResponseGroup:
    offsets = await _offsets_of(coordinator, group.group_id, group.member_id, group.member_epoch, stable=stable)
    if isinstance(offsets, ErrorCode):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=offsets)
    by_id = version >= TOPIC_IDS_SINCE
    response = OffsetFetchResponseGroup(group_id=group.group_id)
    if group.topics is None:
        for name, partitions in _by_topic(offsets):
            topic = coordinator.image.topic(name)
            if topic is not None or not by_id:
                response.topics.append(_topic(name, partitions, offsets))
                if topic is not None:
                    response.topics[-1].topic_id = topic.topic_id
        return response
    for asked in group.topics:
        response.topics.append(_asked_topic(coordinator, asked, offsets, by_id=by_id))
    return response


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

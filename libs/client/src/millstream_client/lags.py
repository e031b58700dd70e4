"""How far many groups are behind, in one request for each coordinator and one for each leader."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.errors import KafkaError
from millstream_client.groups import SHARE, Lag, ListedGroup
from millstream_client.metadata import NO_LEADER, Snapshot
from millstream_client.offsets import LATEST, find_offsets
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from millstream_wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

_PATIENCE_MS = 2_000
_Offsets = dict[TopicPartition, int]


async def lags_of_groups(cluster: Cluster, groups: Sequence[ListedGroup], snapshot: Snapshot) -> dict[str, list[Lag]]:
    """Where each group has committed; those of which nobody can tell now are left out, and so are partitions without a leader."""
    by_node: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for group in groups:
        by_node[group.coordinator, group.type == SHARE].append(group.group_id)
    names = {topic.topic_id: name for name, topic in snapshot.topics.items()}
    asked = [
        _ask_share(cluster, node_id, ids) if is_share else _ask(cluster, node_id, ids, names)
        for (node_id, is_share), ids in by_node.items()
    ]
    committed: dict[str, _Offsets] = {}
    for answer in await asyncio.gather(*asked):
        committed.update(answer)
    ends = await _ends(cluster, {each for offsets in committed.values() for each in offsets}, snapshot)
    return {
        group_id: [
            Lag(each.topic, each.partition, offset, ends[each], max(0, ends[each] - offset))
            for each, offset in sorted(offsets.items())
            if each in ends
        ]
        for group_id, offsets in committed.items()
    }


async def _ask(cluster: Cluster, node_id: int, ids: Sequence[str], names: Mapping[Any, str]) -> dict[str, _Offsets]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each, topics=None) for each in ids])
    try:
        answer = await cluster.ask(node_id, request)
    except KafkaError:
        return {}
    return {
        group.group_id: {
            TopicPartition(name, each.partition_index): each.committed_offset
            for topic in group.topics
            for name in [topic.name or names.get(topic.topic_id, "")]
            for each in topic.partitions
            if name and each.error_code == ErrorCode.NONE and each.committed_offset >= 0
        }
        for group in answer.groups
        if group.error_code == ErrorCode.NONE
    }


async def _ask_share(cluster: Cluster, node_id: int, ids: Sequence[str]) -> dict[str, _Offsets]:
    asked = [DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in ids]
    try:
        answer = await cluster.ask(node_id, DescribeShareGroupOffsetsRequest(groups=asked))
    except KafkaError:
        return {}
    return {
        group.group_id: {
            TopicPartition(topic.topic_name, each.partition_index): each.start_offset
            for topic in group.topics
            for each in topic.partitions
            if each.error_code == ErrorCode.NONE and each.start_offset >= 0
        }
        for group in answer.groups
        if group.error_code == ErrorCode.NONE
    }


async def _ends(cluster: Cluster, partitions: Iterable[TopicPartition], snapshot: Snapshot) -> _Offsets:
    """As far as leaders answer: one that is gone does not keep the others' numbers."""
    by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for each in partitions:
        topic = snapshot.topics.get(each.topic)
        if topic is not None and each.partition < len(topic.partitions):
            by_leader[topic.partitions[each.partition].leader_id].append(each)
    by_leader.pop(NO_LEADER, None)
    answers = await asyncio.gather(
        *(find_offsets(cluster, dict.fromkeys(each, LATEST), timeout_ms=_PATIENCE_MS) for each in by_leader.values()),
        return_exceptions=True,
    )
    found: _Offsets = {}
    for answer in answers:
        if isinstance(answer, dict):
            found |= answer
        elif not isinstance(answer, KafkaError):
            raise answer
    return found

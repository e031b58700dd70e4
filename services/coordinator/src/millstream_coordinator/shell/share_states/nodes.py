"""The state of share partitions as groups need it, wherever it is kept: each partition's owner is asked, over the network too
if that is this node, so that there is one way to it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from millstream_cluster.ids import SHARE_STATE_TOPIC
from millstream_cluster.image import Image
from millstream_cluster.shard import share_key
from millstream_coordinator.core.group.partitions import TopicIdPartition, by_topic
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.owner import Owners
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state_summary,
)
from millstream_wire.schema import Request

ATTEMPTS = 20
BACKOFF_MS = 100
"""Between two attempts: the topic may be only just created, and its shards be on their way to their owners."""
AGAIN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)

R = TypeVar("R")
Results = dict[TopicIdPartition, R]


class ShareStateNodes:
    def __init__(
        self,
        nodes: Nodes,
        image: Callable[[], Image],
        interest: Interest,
        want_topic: Callable[[str], None],
        *,
        timeout_ms: int,
    ) -> None:
        self._owners = Owners(nodes, image, interest)
        self._image = image
        self._want_topic = want_topic
        self._timeout_ms = timeout_ms

    async def initialize(
        self, group_id: str, start_offsets: Mapping[TopicIdPartition, int], *, state_epoch: int
    ) -> dict[TopicIdPartition, ErrorCode]:
        """What became of each of the partitions."""

        def request(partitions: Iterable[TopicIdPartition]) -> Request[Any]:
            asked = InitializeShareGroupStateRequest(group_id=group_id)
            for topic_id, numbers in by_topic(partitions):
                data = initialize_share_group_state.InitializeStateData(topic_id=topic_id)
                data.partitions = [
                    initialize_share_group_state.PartitionData(
                        partition=number, state_epoch=state_epoch, start_offset=start_offsets[topic_id, number]
                    )
                    for number in numbers
                ]
                asked.topics.append(data)
            return asked

        return _errors(await self._ask(group_id, start_offsets, request))

    async def delete(self, group_id: str, partitions: Iterable[TopicIdPartition]) -> dict[TopicIdPartition, ErrorCode]:
        def request(some: Iterable[TopicIdPartition]) -> Request[Any]:
            topics = [
                delete_share_group_state.DeleteStateData(
                    topic_id=topic_id,
                    partitions=[delete_share_group_state.PartitionData(partition=number) for number in numbers],
                )
                for topic_id, numbers in by_topic(some)
            ]
            return DeleteShareGroupStateRequest(group_id=group_id, topics=topics)

        return _errors(await self._ask(group_id, partitions, request))

    async def summaries(
        self, group_id: str, partitions: Iterable[TopicIdPartition]
    ) -> dict[TopicIdPartition, read_share_group_state_summary.PartitionResult]:
        """How far the group has come in each of the partitions."""

        def request(some: Iterable[TopicIdPartition]) -> Request[Any]:
            topics = [
                read_share_group_state_summary.ReadStateSummaryData(
                    topic_id=topic_id,
                    partitions=[
                        read_share_group_state_summary.PartitionData(partition=number, leader_epoch=-1)
                        for number in numbers
                    ],
                )
                for topic_id, numbers in by_topic(some)
            ]
            return ReadShareGroupStateSummaryRequest(group_id=group_id, topics=topics)

        return await self._ask(group_id, partitions, request)

    async def _ask(
        self,
        group_id: str,
        partitions: Iterable[TopicIdPartition],
        request: Callable[[Iterable[TopicIdPartition]], Request[Any]],
    ) -> dict[TopicIdPartition, Any]:
        """The result of each partition; of those that nobody could be asked about there is none."""
        left = set(partitions)
        results: dict[TopicIdPartition, Any] = {}
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(BACKOFF_MS / 1000)
            owners: dict[int, list[TopicIdPartition]] = {}
            for partition in sorted(left):
                owner = self._owner(group_id, partition)
                if owner is not None:
                    owners.setdefault(owner, []).append(partition)
            answers = await asyncio.gather(*(self._send(node, request(some)) for node, some in owners.items()))
            for answer in answers:
                for topic in answer.results if answer is not None else ():
                    for result in topic.partitions:
                        if result.error_code not in AGAIN:
                            results[topic.topic_id, result.partition] = result
            left -= results.keys()
            if not left:
                break
        return results

    def _owner(self, group_id: str, partition: TopicIdPartition) -> int | None:
        if self._image().topic(SHARE_STATE_TOPIC) is None:
            self._want_topic(SHARE_STATE_TOPIC)
        return self._owners.of_key(SHARE_STATE_TOPIC, share_key(group_id, *partition))

    async def _send(self, node_id: int, request: Request[Any]) -> Any:
        answer = await self._owners.ask(node_id, request, timeout_ms=self._timeout_ms)
        return None if isinstance(answer, ErrorCode) else answer


def _errors(results: Mapping[TopicIdPartition, Any]) -> dict[TopicIdPartition, ErrorCode]:
    return {partition: ErrorCode(result.error_code) for partition, result in results.items()}

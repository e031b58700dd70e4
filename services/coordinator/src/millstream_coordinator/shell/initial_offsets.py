"""Where a group begins in partitions that it never committed to, if its configuration says so: asked of the leaders, then
committed for the group before a member is told, so that it begins there once and for all.
"""

from collections import defaultdict
from collections.abc import Callable, Collection

from millstream_cluster.image import Image
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.group.policy import InitialOffset
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListOffsetsRequest
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic

TIMESTAMPS = {InitialOffset.EARLIEST: -2, InitialOffset.LATEST: -1}

Address = tuple[str, int]


class InitialOffsets:
    def __init__(self, brokers: Nodes, image: Callable[[], Image], *, timeout_ms: int) -> None:
        self._brokers = brokers
        self._image = image
        self._timeout_ms = timeout_ms

    async def find(
        self, partitions: Collection[TopicPartition], initial: InitialOffset
    ) -> dict[TopicPartition, int] | None:
        """Of each of the partitions; None if one of them cannot be had now."""
        found: dict[TopicPartition, int] = {}
        for (host, port), topics in self._by_leader(partitions).items():
            request = ListOffsetsRequest(
                replica_id=-1,
                topics=[
                    ListOffsetsTopic(
                        name=name,
                        partitions=[
                            ListOffsetsPartition(partition_index=number, timestamp=TIMESTAMPS[initial])
                            for number in numbers
                        ],
                    )
                    for name, numbers in topics.items()
                ],
            )
            try:
                answer = await self._brokers.request(host, port, request, timeout_ms=self._timeout_ms)
            except ClientError:
                return None
            for topic in answer.topics:
                for each in topic.partitions:
                    if each.error_code == ErrorCode.NONE:
                        found[topic.name, each.partition_index] = each.offset
        return found if len(found) == len(partitions) else None

    def _by_leader(self, partitions: Collection[TopicPartition]) -> dict[Address, dict[str, list[int]]]:
        image = self._image()
        asked: dict[Address, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for name, number in partitions:
            partition = image.partition(name, number)
            leader = image.node(partition.leader) if partition is not None else None
            endpoint = leader.endpoint("") if leader is not None else None
            if endpoint is not None:
                asked[endpoint.host, endpoint.port][name].append(number)
        return asked

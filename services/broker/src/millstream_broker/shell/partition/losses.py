"""Tells the controller which partitions this broker has lost, until the metadata says that it knows.

In Kafka's words: the replica is assigned to the directory "lost". The controller takes the broker out of the ISR.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_cluster.ids import LOST_DIRECTORY
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AssignReplicasToDirsRequest
from millstream_wire.messages.assign_replicas_to_dirs import (
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)

logger = logging.getLogger(__name__)

TIMEOUT_MS = 10_000
RETRY_MS = 500
"""Also how long the metadata gets to say that the controller knows."""


class Losses:
    def __init__(
        self, node_id: int, controllers: ControllerLink, partitions: HostedPartitions, broker_epoch: Callable[[], int]
    ) -> None:
        self._node_id = node_id
        self._controllers = controllers
        self._partitions = partitions
        self._broker_epoch = broker_epoch
        self._wake = asyncio.Event()
        partitions.on_lost = self._wake.set

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while untold := self._partitions.untold:
                await self._tell(untold)
                await asyncio.sleep(RETRY_MS / 1000)

    async def _tell(self, lost: Iterable[ReplicaKey]) -> None:
        topics: dict[UUID, RequestTopicData] = {}
        for topic_id, number in lost:
            topic = topics.setdefault(topic_id, RequestTopicData(topic_id=topic_id))
            topic.partitions.append(RequestPartitionData(partition_index=number))
        directory = RequestDirectoryData(id=LOST_DIRECTORY, topics=list(topics.values()))
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id, broker_epoch=self._broker_epoch(), directories=[directory]
        )
        try:
            answer = await self._controllers.request(request, timeout_ms=TIMEOUT_MS)
        except ClientError as error:
            logger.warning("lost partitions not told reason=%s", error)
            return
        if answer.error_code != ErrorCode.NONE:
            logger.warning("lost partitions not told error=%s", ErrorCode(answer.error_code).name)

"""Tells the controller which partitions this broker has lost, and in which directory the others are, until the metadata says so.

In Kafka's words: replicas are assigned to directories, and one of those is "lost". Of what is lost the controller takes the
broker out of the ISR. Where a broker has one directory, nobody has to be told that everything is in it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from itertools import islice
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.broker import Broker
from millstream_cluster.ids import LOST_DIRECTORY
from millstream_cluster.metadata_version import MetadataVersion
from millstream_runtime.nodes.client import ClientError
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
TOLD_AT_ONCE_MAX = 2_000


class Whereabouts:
    def __init__(self, broker: Broker, broker_epoch: Callable[[], int]) -> None:
        self._broker = broker
        self._node_id = broker.config.node_id
        self._controllers = broker.controllers
        self._partitions = broker.partitions
        self._broker_epoch = broker_epoch
        self._wake = asyncio.Event()
        broker.partitions.on_untold = self._wake.set

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while untold := self._untold():
                await self._tell(untold)
                await asyncio.sleep(RETRY_MS / 1000)

    def _untold(self) -> dict[ReplicaKey, UUID]:
        """What is lost comes first: this broker is not let in before the controller knows it. Older metadata has no directories."""
        image, misplaced = self._broker.image, self._partitions.misplaced
        for key, place in list(misplaced.items()):
            partition = image.partition(*key)
            is_ours = partition is not None and self._node_id in partition.replicas
            if partition is None or not is_ours or partition.directory_of(self._node_id) == place:
                del misplaced[key]
        lost = dict.fromkeys(self._partitions.untold, LOST_DIRECTORY)
        if not lost and image.metadata_version < MetadataVersion.RELEASE_0_2:
            return {}
        return dict(islice((lost or misplaced).items(), TOLD_AT_ONCE_MAX))

    async def _tell(self, places: Mapping[ReplicaKey, UUID]) -> None:
        directories: dict[UUID, dict[UUID, RequestTopicData]] = {}
        for (topic_id, number), place in places.items():
            topic = directories.setdefault(place, {}).setdefault(topic_id, RequestTopicData(topic_id=topic_id))
            topic.partitions.append(RequestPartitionData(partition_index=number))
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch(),
            directories=[
                RequestDirectoryData(id=place, topics=list(topics.values())) for place, topics in directories.items()
            ],
        )
        try:
            answer = await self._controllers.request(request, timeout_ms=TIMEOUT_MS)
        except ClientError as error:
            logger.warning("directories of partitions not told reason=%s", error)
            return
        if answer.error_code != ErrorCode.NONE:
            logger.warning("directories of partitions not told error=%s", ErrorCode(answer.error_code).name)

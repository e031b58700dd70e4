"""All shards of one kind that are this coordinator's, as the metadata assigns them: takes up new ones, drops those that went elsewhere."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar
from uuid import UUID

from millstream_cluster.image import Image
from millstream_cluster.shard import shard_of
from millstream_coordinator.shell.shards.owned import OwnedShard, Service, ShardKind, Surroundings
from millstream_coordinator.shell.shards.partition import Connections, ShardPartition
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

ShardKey = tuple[UUID, int]
S = TypeVar("S", bound=Service)


class Shards(Generic[S]):
    """Invariant: a shard has a running task exactly while the last metadata seen says that it is ours."""

    def __init__(
        self, kind: ShardKind[Any, S], around: Surroundings, connections: Connections, image: Callable[[], Image]
    ) -> None:
        self._kind = kind
        self._around = around
        self._connections = connections
        self._image = image
        self._owned: dict[ShardKey, tuple[OwnedShard[Any, S], asyncio.Task[None]]] = {}
        self._changed = asyncio.Event()
        self.commits = 0
        """Offsets committed since the start."""

    def on_change(self) -> None:
        """The metadata changed."""
        self._changed.set()

    def claim_again(self) -> None:
        """Answer nothing from what the shards know now."""
        for shard, _ in self._owned.values():
            shard.restart("the session at the controller was lost")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._changed.wait()
                self._changed.clear()
                self._follow(self._image(), tasks)

    def of(self, key: str) -> S | ErrorCode:
        """Where this group or transactional id is kept, or what its client has to be told."""
        topic = self._image().topic(self._kind.topic)
        if topic is None or not topic.partitions:
            return ErrorCode.NOT_COORDINATOR
        return self.at(topic.topic_id, shard_of(key, len(topic.partitions)))

    def at(self, topic_id: UUID, partition: int) -> S | ErrorCode:
        owned = self._owned.get((topic_id, partition))
        if owned is None:
            return ErrorCode.NOT_COORDINATOR
        return owned[0].service or ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def serving(self) -> Iterator[S]:
        for shard, _ in list(self._owned.values()):
            if shard.service is not None:
                yield shard.service

    @property
    def loading(self) -> int:
        """Shards that are ours and not served yet, though the broker is there that has them."""
        return sum(shard.service is None and shard.partition.is_online for shard, _ in self._owned.values())

    @property
    def offline(self) -> int:
        """Shards that cannot be loaded because no broker leads their partition."""
        return sum(shard.service is None and not shard.partition.is_online for shard, _ in self._owned.values())

    def owned(self) -> list[OwnedShard[Any, S]]:
        return [shard for shard, _ in self._owned.values()]

    def _follow(self, image: Image, tasks: asyncio.TaskGroup) -> None:
        topic = image.topic(self._kind.topic)
        ours = {
            (shard.topic_id, shard.partition): shard
            for shard in image.shards.values()
            if shard.coordinator_id == self._around.node_id and topic is not None and shard.topic_id == topic.topic_id
        }
        for key in self._owned.keys() - ours.keys():
            shard, task = self._owned.pop(key)
            logger.info("shard dropped shard=%s", shard.partition.name)
            task.cancel()
        for key, assigned in ours.items():
            if key not in self._owned:
                self._take_up(key, tasks)
            elif self._owned[key][0].is_behind(assigned.producer_id, assigned.producer_epoch):
                self._owned[key][0].restart("it was claimed again")

    def _take_up(self, key: ShardKey, tasks: asyncio.TaskGroup) -> None:
        topic_id, partition = key
        place = ShardPartition(
            self._around.world,
            self._connections,
            self._image,
            topic=self._kind.topic,
            topic_id=topic_id,
            partition=partition,
        )
        shard = OwnedShard(place, self._kind, self._around)
        self._owned[key] = shard, tasks.create_task(shard.run())

"""Holds the answers to requests that changed topics until this broker has made the changes its own."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from millstream_broker.core.topic_changes import TopicChanges
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord
from millstream_wire.schema import Request


class TopicChangesAwaited:
    """The changes that requests wait for now: as many as there are requests under way, each bounded by its time."""

    def __init__(self, partitions: HostedPartitions, image: Callable[[], Image], *, node_id: int) -> None:
        self._partitions = partitions
        self._image = image
        self._node_id = node_id
        self._awaited: list[TopicChanges] = []
        self._moved = asyncio.Event()
        partitions.on_added = self._move

    @contextmanager
    def begun(self, request: Request[Any]) -> Iterator[TopicChanges]:
        """Watch the metadata go by while the controller is asked and afterwards."""
        changes = TopicChanges.asked_by(request, self._image())
        self._awaited.append(changes)
        try:
            yield changes
        finally:
            self._awaited.remove(changes)

    def on_records(self, records: Iterable[MetadataRecord]) -> None:
        """The image reflects these now, and plans were made of them."""
        if self._awaited:
            for changes in self._awaited:
                changes.on_records(records)
            self._move()

    async def seen(self, changes: TopicChanges, timeout_ms: int) -> bool:
        """Wait until the changes can be seen here; False if that took too long."""
        try:
            async with asyncio.timeout(max(timeout_ms, 0) / 1000):
                while not changes.are_seen(self._image(), self._node_id, self._partitions.is_settled):
                    await self._moved.wait()
        except TimeoutError:
            return False
        return True

    def _move(self) -> None:
        if self._awaited:
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()

"""Follows the metadata log of the active controller into an Image, as an observer.

It never truncates and never guesses: what the log says is applied in order, once.
"""

import asyncio
from collections.abc import Callable, Sequence

from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord

from millstream_runtime.controllers import ControllerLink
from millstream_runtime.world import World


class MetadataFollower:
    """Keeps `image` up to date; after each batch `on_records(image, records)` is told what was applied.

    After a snapshot the image is a new object and the records are all of the snapshot's: what they do not name is gone.
    """

    def __init__(
        self,
        world: World,
        link: ControllerLink,
        *,
        node_id: int,
        on_records: Callable[[Image, Sequence[MetadataRecord]], None],
        max_wait_ms: int = 1_000,
    ) -> None:
        self.image = Image()
        self.caught_up = asyncio.Event()
        """Set once the image reflects everything that was committed at some moment after the start."""

    async def run(self) -> None:
        """Fetch and apply until cancelled."""

    async def wait_for(self, offset: int) -> None:
        """Return once the image reflects `offset`."""

"""Replicated's journal: commands become batches, batches are appended to the store, then they are part of the log.

It decides only how commands are grouped; a command's records are never split over two batches.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from millstream_cluster.records import MetadataRecord
from millstream_controller.shell.batches import encode_records
from millstream_controller.shell.events import log_committed
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_controller.shell.store import Snapshot, Store, StoreBroken, StoreUnavailable
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

Commands = Sequence[tuple[MetadataRecord, ...]]


class StoreJournal:
    """Invariant: until `verified_ms` no other controller had appended; of the time since then nothing is known."""

    def __init__(self, store: Store, log: MetadataLog, writer: str, epoch: int, world: World) -> None:
        self.verified_ms: int | None = None
        """When the last call began, by the monotonic clock, with which the store proved that nobody else had appended.

        Its beginning, not its end: an append that waited for five minutes proves nothing of the last four.
        """
        self._store = store
        self._log = log
        self._writer = writer
        self._epoch = epoch
        self._world = world
        self._appends = 0
        self._store_in_use = asyncio.Lock()
        self._saving: asyncio.Task[None] | None = None
        """The snapshot under way beside the appends: one at most, so that one is held in memory at most."""

    async def append(self, commands: Commands) -> None:
        """Append these commands in as few batches as the store's size allows; a snapshot that is due is saved beside that."""
        if self._saving is not None and (self._store.is_full or self._saving.done()):
            await self._finish_saving()
        async with self._store_in_use:
            await self._append(commands)
            if self._saving is None and self._store.wants_snapshot:
                await self._begin_snapshot()

    async def _finish_saving(self) -> None:
        """Wait for the snapshot under way, and say what became of it."""
        saving = self._saving
        if saving is not None:
            await asyncio.wait([saving])
            self._saving = None
            saving.result()

    async def stop(self) -> None:
        """Let go of a snapshot that is under way: nothing names its parts, and the next takeover removes them."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)

    async def verify(self) -> None:
        """Raise Fenced if this writer is not the last one any more."""
        async with self._store_in_use:
            began_ms = self._world.monotonic_ms()
            await self._store.verify()
            self.verified_ms = began_ms

    async def _append(self, commands: Commands) -> None:
        if self._store.is_full:
            await (
                self._finish_saving()
            )  # commands that became several batches filled the ring: never two snapshots at once
        if self._store.is_full:
            await self._snapshot()
        batch = self._encode(commands)
        if len(batch) > self._store.batch_bytes_max:
            if len(commands) == 1:
                raise StoreBroken(f"one command of {len(batch)} bytes is larger than the store takes")
            half = len(commands) // 2
            await self._append(commands[:half])
            await self._append(commands[half:])
            return
        began_ms = self._world.monotonic_ms()
        await self._store.append(batch)
        self.verified_ms = began_ms
        records = [record for command in commands for record in command]
        self._log.committed(batch, records)
        log_committed(records)

    def _encode(self, commands: Commands) -> bytes:
        self._appends += 1
        return encode_records(
            [record for command in commands for record in command],
            level=self._log.image.metadata_version,
            base_offset=self._log.end_offset,
            epoch=self._epoch,
            timestamp_ms=self._world.now_ms(),
            writer=f"{self._writer}:{self._appends}",
        )

    async def _begin_snapshot(self) -> None:
        snapshot = self._snapshot()
        if self._store.saves_beside_appends:
            self._saving = asyncio.get_running_loop().create_task(snapshot)
        else:
            await snapshot

    def _snapshot(self) -> Coroutine[Any, Any, None]:
        """Save what is committed at the moment of this call."""
        return self._save(self._log.take_snapshot(self._world.now_ms()), covers=self._store.appended)

    async def _save(self, encode: Callable[[], Coroutine[Any, Any, Snapshot]], *, covers: int) -> None:
        snapshot = await encode()
        try:
            await self._store.save_snapshot(snapshot, covers=covers)
        except StoreUnavailable as error:
            logger.error("metadata snapshot failed error=%s", error)
            return
        self._log.begin_with(snapshot)
        logger.info("metadata snapshot end_offset=%d bytes=%d", snapshot.end_offset, len(snapshot.data))

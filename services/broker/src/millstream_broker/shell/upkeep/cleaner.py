"""Compacts logs one after the other, the dirtiest first, in the time and at the disk rate that requests leave.

What to clean and what stays is decided in `millstream_log.cleaner`. Its steps run in a thread and are short, with a pause as
long as the step after each: a thread that computes keeps the event loop waiting.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial

from millstream_broker.cleaner_config import CleanerConfig
from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.topic_settings import NO_LIMIT_MS
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_log import CorruptFile, Log, LogError
from millstream_log.cleaner import (
    Cleanable,
    Cleaned,
    Cleaning,
    Step,
    Worked,
    find_cleanable,
    replace_segments,
    settle_replacement,
    wants_cleaning,
)
from millstream_log.segment_swap import discard_cleaned
from millstream_runtime.world import World
from millstream_wire.records import RecordsError

RETRY_FAILED_MS = 300_000
REST_LOOK_MS = 1_000

logger = logging.getLogger(__name__)


class Cleaner:
    def __init__(self, config: Callable[[], CleanerConfig], world: World, partitions: HostedPartitions) -> None:
        """`config` is asked whenever it matters: it may be set while the broker runs."""
        self._config = config
        self._world = world
        self._partitions = partitions
        self._uncleanable: set[ReplicaKey] = set()
        self._retry_at_ms: dict[ReplicaKey, int] = {}

    async def run(self) -> None:
        while True:
            if not await self.clean_dirtiest():
                await self._rest()

    async def _rest(self) -> None:
        """For as long as is set, which may become less meanwhile."""
        began_ms = self._world.monotonic_ms()
        while (left_ms := began_ms + self._config().backoff_ms - self._world.monotonic_ms()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left_ms, REST_LOOK_MS) / 1000)

    async def clean_dirtiest(self) -> bool:
        """Clean the log that needs it most; return False if none does, or if it did not work."""
        self._uncleanable &= self._partitions.keys
        self._retry_at_ms = {key: at for key, at in self._retry_at_ms.items() if key in self._partitions.keys}
        worth_it = [
            (cleanable.dirty_ratio, index, replica, cleanable)
            for index, replica in enumerate(self._partitions)
            if (cleanable := self._worth_cleaning(replica)) is not None
        ]
        if not worth_it:
            return False
        _, _, replica, cleanable = max(worth_it)
        log = replica.log
        try:
            await self._clean(replica, cleanable)
        except CorruptFile as error:
            self._mark_uncleanable(replica, error)
        except (OSError, LogError) as error:
            if self._has(replica, log):  # or else its directory went away under us
                self._retry_at_ms[replica.key] = self._world.monotonic_ms() + RETRY_FAILED_MS
                logger.error("compaction failed partition=%s reason=%s", replica.name, error)
            return False
        return True

    def _worth_cleaning(self, replica: HostedPartition) -> Cleanable | None:
        if not replica.settings.compacts or replica.is_cut or replica.key in self._uncleanable:
            return None
        if self._retry_at_ms.get(replica.key, 0) > self._world.monotonic_ms():
            return None
        log, now_ms, compaction = replica.log, self._world.now_ms(), replica.settings.compaction
        cleanable = find_cleanable(
            log.segments,
            compaction,
            first_dirty_offset=replica.directory.first_dirty_offset(replica.name) or 0,
            stable_offset=replica.last_stable_offset,
            now_ms=now_ms,
        )
        try:
            dirty_since_ms = self._dirty_since_ms(replica, cleanable)
        except (OSError, RecordsError) as error:
            self._mark_uncleanable(replica, error)
            return None
        return (
            cleanable if wants_cleaning(cleanable, compaction, dirty_since_ms=dirty_since_ms, now_ms=now_ms) else None
        )

    def _dirty_since_ms(self, replica: HostedPartition, cleanable: Cleanable) -> int:
        """The time of the first record that is dirty, if a limit asks for it: that takes a look at the disk."""
        if replica.settings.compaction.max_lag_ms == NO_LIMIT_MS or cleanable.dirty_bytes == 0:
            return -1
        dirty = (each for each in replica.log.segments if each.end_offset > cleanable.first_dirty_offset and each.size)
        return next(dirty).header_at(0).max_timestamp

    def _mark_uncleanable(self, replica: HostedPartition, error: Exception) -> None:
        self._uncleanable.add(replica.key)
        logger.error("partition is uncleanable until the next start partition=%s reason=%s", replica.name, error)

    # ---- one cleaning ----

    async def _clean(self, replica: HostedPartition, cleanable: Cleanable) -> None:
        log, name = replica.log, replica.name
        started_ms = self._world.monotonic_ms()
        cleaning = Cleaning(
            log,
            cleanable,
            replica.settings.compaction,
            keys_bytes_max=self._config().keys_bytes_max,
            now_ms=self._world.now_ms(),
        )
        size_before, size_after = 0, 0
        steps = cleaning.steps()
        while (step := await self._next(steps)) is not None:
            if isinstance(step, Worked):
                continue
            if not self._replace(replica, log, cleanable, step):
                logger.info("compaction given up partition=%s reason=the log has changed", name)
                return
            size_before += sum(segment.size for segment in step.gone)
            size_after += step.put.size
            doomed = await self._world.run_blocking(partial(settle_replacement, log, step))
            self._partitions.removals.add(doomed, replica.settings.file_delete_delay_ms)
        if cleaning.is_void:
            logger.info("compaction given up partition=%s reason=the log was truncated", name)
            return
        if self._has(replica, log):
            replica.directory.note_cleaned(name, cleaning.cleaned_end_offset)
        logger.info(
            "log compacted partition=%s first_dirty_offset=%d end_offset=%d bytes_before=%d bytes_after=%d duration_ms=%d",
            name,
            cleanable.first_dirty_offset,
            cleaning.cleaned_end_offset,
            size_before,
            size_after,
            self._world.monotonic_ms() - started_ms,
        )

    async def _next(self, steps: Iterator[Step]) -> Step | None:
        """Take a step, then leave the disk and the interpreter to others for a while."""
        started_ms = self._world.monotonic_ms()
        step: Step | None = await self._world.run_blocking(partial(next, steps, None))
        pause_ms = float(self._world.monotonic_ms() - started_ms)
        if isinstance(step, Worked):
            pause_ms = max(pause_ms, step.bytes * 1000 / self._config().io_max_bytes_per_second)
        await asyncio.sleep(pause_ms / 1000)
        return step

    def _has(self, replica: HostedPartition, log: Log) -> bool:
        """Whether that still is its log: it may have moved to another directory."""
        return self._partitions.hosts(replica) and replica.log is log

    def _replace(self, replica: HostedPartition, log: Log, cleanable: Cleanable, cleaned: Cleaned) -> bool:
        if not self._has(replica, log):
            return False  # its directory has another name by now, or is another partition's
        if replica.is_cut or cleaned.generation != replica.log.generation:
            discard_cleaned(replica.log.directory, cleaned.put.base_offset, replica.log.disk)
            return False  # what was compacted is not what is there now
        replica.directory.note_cleaned(replica.name, cleanable.first_dirty_offset)
        return replace_segments(replica.log, cleaned)

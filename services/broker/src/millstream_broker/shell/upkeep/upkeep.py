"""What the broker does for its logs beside requests: retention, checkpoints, forgetting silent producers.

Slow by intent: one log at a time, with a breath between two, and what waits for the disk runs in a thread.
"""

import asyncio
import logging
from collections.abc import Callable

from millstream_broker.config import BrokerConfig
from millstream_broker.core.topic_settings import NO_LIMIT_MS
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_log import DataDir, Flush, LogError, StorageError, expired_segments
from millstream_runtime.world import World

FLUSHES_AT_ONCE = 8
FLUSH_CHECK_MS = 1_000
FLUSH_CHECK_LEAST_MS = 10

logger = logging.getLogger(__name__)


class Upkeep:
    def __init__(self, config: Callable[[], BrokerConfig], world: World, partitions: HostedPartitions) -> None:
        self._config = config
        self._world = world
        self._partitions = partitions

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._retain_for_ever())
            tasks.create_task(self._checkpoint_for_ever())
            tasks.create_task(self._flush_for_ever())
            for _ in range(FLUSHES_AT_ONCE):
                tasks.create_task(self._flush_at_once_for_ever())

    async def retain(self) -> None:
        """Let go of what every topic's limits no longer keep."""
        now_ms = self._world.now_ms()
        for replica in self._partitions:
            if replica.is_cut or not self._partitions.hosts(replica):
                continue  # or it went away while the others were looked at
            try:
                self._retain(replica, now_ms)
            except (OSError, LogError) as error:
                logger.error("retention failed partition=%s reason=%s", replica.name, error)
            await asyncio.sleep(0)

    async def checkpoint(self) -> None:
        """Flush what is not on the disk yet and note that it is, so that a crash has little to recover."""
        for replica in self._partitions:
            await self._flush(replica)
        try:
            self._partitions.checkpoint()
        except OSError as error:
            logger.error("checkpoint failed reason=%s", error)

    async def flush_all(self, *, alone: bool = False) -> None:
        """Flush everything, several logs at a time: for a clean stop. `alone`: only what nobody else has in sync."""
        waiting = [each for each in self._partitions if not alone or _is_alone(each)]

        async def work() -> None:
            while waiting:
                await self._flush(waiting.pop())

        async with asyncio.TaskGroup() as tasks:
            for _ in range(FLUSHES_AT_ONCE):
                tasks.create_task(work())

    async def flush_due(self) -> int:
        """Flush the logs whose records have been off the disk for their topic's flush.ms; when to look again, in ms."""
        again_ms = FLUSH_CHECK_MS
        for replica in self._partitions:
            flush_ms = replica.settings.flush_ms
            if flush_ms == NO_LIMIT_MS:
                continue
            again_ms = min(again_ms, max(flush_ms, FLUSH_CHECK_LEAST_MS))
            if self._world.monotonic_ms() - replica.flushed_ms >= flush_ms:
                await self._flush(replica)
        return again_ms

    async def _flush(self, replica: HostedPartition) -> None:
        log = replica.log
        started_ms = self._world.monotonic_ms()
        if log.recovery_point < log.log_end_offset and self._partitions.hosts(replica):
            try:
                await self._bring_to_disk(replica)
            except (OSError, LogError) as error:
                if self._partitions.hosts(replica) and replica.log is log:
                    logger.error("flush failed partition=%s reason=%s", replica.name, error)
                    self._partitions.on_flush_failed(replica, error)
                return
        replica.flushed_ms = started_ms
        self._partitions.flushed(replica)

    async def _bring_to_disk(self, replica: HostedPartition) -> None:
        log = replica.log
        try:
            flush = log.start_flush()
        except StorageError:
            return  # an earlier one failed, and that was said
        try:
            await self._perform(flush, replica.directory)
        except StorageError:
            return  # another flush of this log failed meanwhile, and says so
        if self._partitions.hosts(replica) and replica.log is log:
            log.finish_flush(flush)

    async def _perform(self, flush: Flush, directory: DataDir) -> None:
        """Have it said again and again that it takes too long: who can lead instead may be there only later."""
        loop, patience_s = asyncio.get_running_loop(), self._config().replica_lag_time_max_ms / 1000
        alarms: list[asyncio.TimerHandle] = []

        def tell() -> None:
            self._partitions.on_hanging(directory)
            arm()

        def arm() -> None:
            alarms[:] = [loop.call_later(patience_s, tell)]

        arm()
        try:
            await self._world.run_blocking(flush.perform)
        finally:
            alarms[0].cancel()
            self._partitions.on_answering(directory)

    def _retain(self, replica: HostedPartition, now_ms: int) -> None:
        log, retention = replica.log, replica.retention
        if retention.forgets_producers:
            log.expire_producers(now_ms, self._config().producer_id_expiration_ms)
        count = expired_segments(
            log.segments,
            retention,
            log_start_offset=log.log_start_offset,
            deletable_end_offset=replica.partition.high_watermark,
            now_ms=now_ms,
        )
        if count == 0:
            return
        if count == len(log.segments):
            log.roll(now_ms)
        self._partitions.removals.add(log.doom_segments(count), replica.settings.file_delete_delay_ms)
        logger.info(
            "segments deleted partition=%s count=%d log_start_offset=%d", replica.name, count, log.log_start_offset
        )

    async def _retain_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._config().retention_check_interval_ms / 1000)
            await self.retain()

    async def _checkpoint_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._config().checkpoint_interval_ms / 1000)
            await self.checkpoint()

    async def _flush_at_once_for_ever(self) -> None:
        while True:
            replica = await self._partitions.due_flushes.next()
            if self._partitions.hosts(replica):
                await self._flush(replica)

    async def _flush_for_ever(self) -> None:
        while True:
            again_ms = await self.flush_due()
            await asyncio.sleep(again_ms / 1000)


def _is_alone(replica: HostedPartition) -> bool:
    return replica.partition.leads and len(replica.partition.isr) == 1

"""Cuts off of a follower's log what its leader does not have.

A cut waits for the disk and so happens in a thread, and on a full disk until there is room. Meanwhile nothing else touches the
partition: it is `is_cut`, and what the metadata says of it is held back until the cut is done.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from millstream_broker.core.partition.follower import Effect, Truncate, TruncateFully
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.replication.copying import Copying, first_unstable
from millstream_broker.shell.replication.followed import Batches, Followed
from millstream_log import Log, LogError
from millstream_log.cutting import Cut, cut_of_everything
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

CUTS_AT_ONCE: Final = 4
CUT_AGAIN_S: Final = 1.0
"""After this long a disk that was full is tried again."""


class Cutting:
    """Takes what copying has come to and cannot do itself."""

    def __init__(self, broker: Broker, copying: Copying) -> None:
        self._world = broker.world
        self._partitions = broker.partitions
        self._copying = copying
        self._at_once = asyncio.Semaphore(CUTS_AT_ONCE)

    async def run(self) -> None:
        """Cut what has to be cut, a few logs at a time; those that wait for room keep no other from it."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                followed, effects, batches = await self._copying.cuts.get()
                tasks.create_task(self._cut_one(followed, effects, batches))

    async def _cut_one(self, followed: Followed, effects: Sequence[Effect], batches: Batches) -> None:
        replica = followed.replica
        await self._at_once.acquire()
        if followed.is_over:
            self._at_once.release()
            return
        replica.is_cut = True
        try:
            failure = await self._failure_of_cut(followed, effects[0])
        finally:
            replica.is_cut = False
            self._at_once.release()
        if not followed.is_over and not failure:
            followed.follower.on_truncated()
            self._copying.carry_out(followed, effects[1:], batches)
        elif not followed.is_over:
            self._copying.failed(followed, f"not truncated: {failure}")
        self._partitions.assign_held_back(replica)

    async def _failure_of_cut(self, followed: Followed, effect: Effect) -> str:
        """Why it could not be cut; nothing if it is."""
        try:
            await self._cut(followed, effect)
        except (OSError, LogError, RecordsError) as error:
            return str(error) or type(error).__name__
        return ""

    async def _cut(self, followed: Followed, effect: Effect) -> None:
        """Cut the log and all that is known of its end, as one step for everybody on the event loop."""
        assert isinstance(effect, Truncate | TruncateFully)
        replica = followed.replica
        log, partition, world = replica.log, replica.partition, self._world
        ended: list[tuple[int, int]] = []
        start_offset = 0
        if isinstance(effect, Truncate):
            look = partial(_look, log, effect.offset, int(partition.high_watermark), world.now_ms())
            cut, ended = await world.run_to_end(look)
        else:
            start_offset = effect.start_offset
            cut = cut_of_everything(start_offset, generation=log.generation, now_ms=world.now_ms())
        if followed.is_over:
            return  # nothing has happened yet, and the next leader may be us: then what this one lacks stays
        self._tell_cut(replica, effect, cut)
        truncation = replica.directory.start_truncation(replica.name, cut)
        partition.on_truncated(
            log.log_end_offset,
            first_unstable(log),
            [each for each in ended if each[0] < cut.end_offset],
            start_offset=start_offset,
        )
        waits = False
        try:
            while (refused := await world.run_to_end(truncation.attempt)) is not None:
                if not waits:
                    logger.warning("truncation waits partition=%s reason=%s", replica.name, refused)
                waits = True
                await self._wait_for_room()
        finally:
            # Also when the broker stops meanwhile: the disk has followed by now, and the log can be closed in order.
            if self._partitions.hosts(replica):
                doomed = log.finish_truncation(truncation)
                self._partitions.removals.add(doomed, replica.settings.file_delete_delay_ms)

    async def _wait_for_room(self) -> None:
        """Others may be cut meanwhile: they may be on another disk. Whoever is cancelled here is told to stop, and then it does not
        matter how many are cut at once.
        """
        self._at_once.release()
        await asyncio.sleep(CUT_AGAIN_S)
        await self._at_once.acquire()

    def _tell_cut(self, replica: HostedPartition, effect: Truncate | TruncateFully, cut: Cut) -> None:
        if effect.committed > 0 and replica.log.log_end_offset > replica.log.log_start_offset:
            logger.error(
                "committed records truncated partition=%s end_offset=%d high_watermark=%d"
                " reason=the leader was elected without them (an unclean election)",
                replica.name,
                cut.end_offset,
                replica.partition.high_watermark,
            )
        else:
            logger.info(
                "log truncated partition=%s end_offset=%d from=%d high_watermark=%d",
                replica.name,
                cut.end_offset,
                replica.log.log_end_offset,
                replica.partition.high_watermark,
            )


def _look(log: Log, offset: int, high_watermark: int, now_ms: int) -> tuple[Cut, list[tuple[int, int]]]:
    """Where to cut, and which transactions ended above the high watermark: both read the disk."""
    cut = log.find_cut(offset, now_ms=now_ms)
    return cut, log.ended_transactions(min(high_watermark, cut.end_offset), now_ms=now_ms)

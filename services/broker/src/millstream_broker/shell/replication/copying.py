"""Does to a follower's log what its step machine decided: appends what the leader sent, cuts what the leader does not have.

A cut waits for the disk and so happens in a thread, and on a full disk until there is room. Meanwhile nothing else touches the
partition: it is `is_cut`, and what the metadata says of it is held back until the cut is done.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from millstream_broker.core.partition.follower import (
    Append,
    BackOff,
    Effect,
    FetchFrom,
    Follow,
    Truncate,
    TruncateFully,
)
from millstream_broker.core.partition.refusals import CALM_MS
from millstream_broker.core.partition.standing import NO_OFFSET
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.effects import perform
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.replication.followed import Batches, Followed, answer_of, checked
from millstream_log import Copied, Log, LogError
from millstream_log.cutting import Cut, cut_of_everything
from millstream_wire.messages.fetch import PartitionData
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

CUTS_AT_ONCE: Final = 4
CUT_AGAIN_S: Final = 1.0
"""After this long a disk that was full is tried again."""
_NOTHING: Final = Copied(0, 0, [])
_NO_BATCHES: Final = Batches(memoryview(b""), [], "")


class Copying:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._world = broker.world
        self._partitions = broker.partitions
        self._delays = broker.delays
        self._cuts: asyncio.Queue[tuple[Followed, Sequence[Effect], Batches]] = asyncio.Queue()
        self._at_once = asyncio.Semaphore(CUTS_AT_ONCE)

    async def run(self) -> None:
        """Cut what has to be cut, a few logs at a time; those that wait for room keep no other from it."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                followed, effects, batches = await self._cuts.get()
                tasks.create_task(self._cut_one(followed, effects, batches))

    def take(self, followed: Followed, asked: FetchFrom, data: PartitionData) -> int:
        """Do what the leader's answer to this question asks for; how many bytes were copied."""
        replica = followed.replica
        if replica.log.has_failed:
            followed.is_failure_told = followed.is_failure_told or asked.cannot_append
            followed.on_changed(followed)
            return 0
        batches = checked(data)
        effects = followed.follower.on_answer(
            asked,
            answer_of(data, batches),
            high_watermark=replica.partition.high_watermark,
            may_have_gaps=replica.settings.compacts or replica.log.has_gaps or data.may_have_gaps,
            backoff_max_ms=self._broker.config.replica_fetch_backoff_ms,
        )
        return self._perform(followed, effects, batches)

    def failed(self, followed: Followed, reason: str) -> None:
        """Its leader cannot be asked, or its log cannot be cut: try again later."""
        effects = followed.follower.on_failed(reason, self._broker.config.replica_fetch_backoff_ms)
        self._perform(followed, effects, _NO_BATCHES)

    def _append_failed(self, followed: Followed, reason: str) -> None:
        followed.replica.refusals.on_refused(self._world.monotonic_ms())
        effects = followed.follower.on_append_failed(reason, self._broker.config.replica_fetch_backoff_ms)
        self._perform(followed, effects, _NO_BATCHES)
        self.watch(followed)

    def watch(self, followed: Followed) -> None:
        """Its log has refused an append: look whether that is over, until it is."""
        if not followed.is_watched:
            followed.is_watched = True
            asyncio.get_running_loop().call_later(CALM_MS / 1000, self._look, followed)

    def _look(self, followed: Followed) -> None:
        followed.is_watched = False
        if followed.is_over or not followed.follower.cannot_append:
            return
        if may_append(self._broker, followed.replica):
            followed.follower.on_refusal_over()
            followed.on_changed(followed)
        else:
            self.watch(followed)

    def _perform(self, followed: Followed, effects: Sequence[Effect], batches: Batches) -> int:
        """One after the other; what comes after a cut waits for it."""
        copied = _NOTHING
        for at, effect in enumerate(effects):
            match effect:
                case Truncate() | TruncateFully():
                    self._cuts.put_nowait((followed, effects[at:], batches))
                    break
                case Append(count):
                    try:
                        copied = self._append(followed.replica, batches, count)
                    except LogError as error:
                        self._append_failed(followed, str(error))
                        return 0
                    followed.replica.refusals.on_appended()
                case Follow(high_watermark, log_start_offset):
                    self._follow(followed.replica, copied, high_watermark, log_start_offset)
                    followed.follower.on_followed()
                case BackOff():
                    self._back_off(followed, effect)
        followed.on_changed(followed)
        return copied.size

    # ---- appending ----

    def _append(self, replica: HostedPartition, batches: Batches, count: int) -> Copied:
        now_ms = self._world.now_ms()
        copied = replica.log.append_all_as_follower(batches.content, batches.headers[:count], now_ms=now_ms)
        self._broker.metrics.replicated_bytes += copied.size
        self._partitions.flush_soon(replica)
        return copied

    def _follow(self, replica: HostedPartition, copied: Copied, high_watermark: int, log_start_offset: int) -> None:
        """Commit what the leader says is committed, and let go of what it let go of."""
        log, partition = replica.log, replica.partition
        replica.leader_high_watermark = high_watermark
        effects = partition.on_followed(
            log.log_end_offset, copied.size, high_watermark, _first_unstable(log), copied.ended
        )
        perform(effects, replica, self._delays)
        start_offset = min(log_start_offset, int(partition.high_watermark))
        if start_offset > log.log_start_offset:
            try:
                log.advance_start(start_offset)
            except (LogError, OSError) as error:
                logger.error("log start not moved partition=%s reason=%s", replica.name, error)

    def _back_off(self, followed: Followed, effect: BackOff) -> None:
        if effect.is_news:
            logger.warning(
                "replica not copied partition=%s leader=%d leader_epoch=%d offset=%d reason=%s",
                followed.replica.name,
                followed.follower.leader,
                followed.follower.leader_epoch,
                followed.replica.log.log_end_offset,
                effect.reason,
            )
        asyncio.get_running_loop().call_later(effect.wait_ms / 1000, self._rested, followed)

    def _rested(self, followed: Followed) -> None:
        if not followed.is_over:
            followed.follower.on_rested()
            followed.on_changed(followed)

    # ---- cutting ----

    async def _cut_one(self, followed: Followed, effects: Sequence[Effect], batches: Batches) -> None:
        replica = followed.replica
        failure: str | None = None
        async with self._at_once:
            if followed.is_over:
                return
            replica.is_cut = True
            try:
                await self._cut(followed, effects[0])
            except (OSError, LogError, RecordsError) as error:
                failure = str(error)
            finally:
                replica.is_cut = False
        if not followed.is_over and failure is None:
            followed.follower.on_truncated()
            self._perform(followed, effects[1:], batches)
        elif not followed.is_over:
            self.failed(followed, f"not truncated: {failure}")
        self._partitions.assign_held_back(replica)
        self._partitions.flush_soon(replica)

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
            _first_unstable(log),
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
        """Others may be cut meanwhile: they may be on another disk."""
        self._at_once.release()
        try:
            await asyncio.sleep(CUT_AGAIN_S)
        finally:
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


def may_append(broker: Broker, replica: HostedPartition) -> bool:
    """Whether nothing speaks against counting on this log any more."""
    hangs = replica.directory in broker.partitions.directories.hanging
    return not hangs and not replica.log.has_failed and replica.refusals.is_over(broker.world.monotonic_ms())


def _look(log: Log, offset: int, high_watermark: int, now_ms: int) -> tuple[Cut, list[tuple[int, int]]]:
    """Where to cut, and which transactions ended above the high watermark: both read the disk."""
    cut = log.find_cut(offset, now_ms=now_ms)
    return cut, log.ended_transactions(min(high_watermark, cut.end_offset), now_ms=now_ms)


def _first_unstable(log: Log) -> int:
    unstable = log.first_unstable_offset
    return NO_OFFSET if unstable is None else unstable

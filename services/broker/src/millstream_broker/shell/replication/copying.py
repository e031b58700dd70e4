"""Does to a follower's log what its step machine decided: appends what the leader sent. What has to be cut is cut elsewhere."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, assert_never

from millstream_broker.core.partition.follower import (
    Answer,
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
from millstream_broker.shell.replication.followed import Batches, Followed
from millstream_log import Copied, Log, LogError

logger = logging.getLogger(__name__)

_NOTHING: Final = Copied(0, 0, [])
_NO_BATCHES: Final = Batches(memoryview(b""), [], "")


class Copying:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._world = broker.world
        self._partitions = broker.partitions
        self._delays = broker.delays
        self.cuts: asyncio.Queue[tuple[Followed, Sequence[Effect], Batches]] = asyncio.Queue()
        """What waits to be cut, what is to be done from there on, and with which batches."""

    def take(
        self, followed: Followed, asked: FetchFrom, answer: Answer, batches: Batches, *, may_have_gaps: bool = False
    ) -> int:
        """Do what the leader's answer to this question asks for; how many bytes were copied. `may_have_gaps`: its log may."""
        replica = followed.replica
        if replica.log.has_failed:
            followed.is_failure_told = followed.is_failure_told or asked.cannot_append
            followed.on_changed(followed)
            return 0
        effects = followed.follower.on_answer(
            asked,
            answer,
            high_watermark=replica.partition.high_watermark,
            may_have_gaps=may_have_gaps or replica.settings.compacts or replica.log.has_gaps,
            backoff_max_ms=self._broker.config.replica_fetch_backoff_ms,
        )
        return self.carry_out(followed, effects, batches)

    def failed(self, followed: Followed, reason: str) -> None:
        """Its leader cannot be asked, or its log cannot be cut: try again later."""
        effects = followed.follower.on_failed(reason, self._broker.config.replica_fetch_backoff_ms)
        self.carry_out(followed, effects, _NO_BATCHES)

    def _append_failed(self, followed: Followed, reason: str) -> None:
        followed.replica.refusals.on_refused(self._world.monotonic_ms())
        effects = followed.follower.on_append_failed(reason, self._broker.config.replica_fetch_backoff_ms)
        self.carry_out(followed, effects, _NO_BATCHES)
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

    def carry_out(self, followed: Followed, effects: Sequence[Effect], batches: Batches) -> int:
        """One after the other; what comes after a cut waits for it."""
        copied = _NOTHING
        for at, effect in enumerate(effects):
            if isinstance(effect, Append):
                try:
                    copied = self._append(followed.replica, batches, effect.count)
                except LogError as error:
                    self._append_failed(followed, str(error))
                    return 0
                followed.replica.refusals.on_appended()
            elif isinstance(effect, Follow):
                self._follow(followed.replica, copied, effect.high_watermark, effect.log_start_offset)
                followed.follower.on_followed()
            elif isinstance(effect, BackOff):
                self._back_off(followed, effect)
            elif isinstance(effect, (Truncate, TruncateFully)):
                self.cuts.put_nowait((followed, effects[at:], batches.owned()))
                break
            else:
                assert_never(effect)
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
            log.log_end_offset, copied.size, high_watermark, first_unstable(log), copied.ended
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


def may_append(broker: Broker, replica: HostedPartition) -> bool:
    """Whether nothing speaks against counting on this log any more."""
    hangs = replica.directory in broker.partitions.directories.hanging
    return not hangs and not replica.log.has_failed and replica.refusals.is_over(broker.world.monotonic_ms())


def first_unstable(log: Log) -> int:
    unstable = log.first_unstable_offset
    return NO_OFFSET if unstable is None else unstable

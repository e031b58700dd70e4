"""Moves replicas between the directories of this broker while they serve (KIP-113), one after the other.

A copy is made beside the log, in a thread, until it has all but a little; then, as one step for everybody on the event loop, it gets
the rest, takes the partition's name in its directory, is noted there (`AppliedMetadata`), and is the log from then on. What is noted
counts: a crash before it leaves the old log in charge, and the move begins anew; a crash after it leaves the new one.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_log import ColdRead, DataDir, LogError, OffsetOutOfRange
from millstream_log.data_dir import Taken
from millstream_log.disk import remove_tree
from millstream_log.future_log import FutureLog
from millstream_runtime.world import World
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

COPIED_AT_ONCE_BYTES = 1 << 20
LAST_BYTES = 64 << 10
LAST_READS = 4
"""What may be left for the last step, during which nothing else is served."""
CUT_LOOK_MS = 50


class Move:
    """Invariant: the copy is a prefix of the replica's log of this generation, as long as that one is the same."""

    def __init__(self, replica: HostedPartition, future: FutureLog) -> None:
        self.replica = replica
        self.future = future
        self.is_cancelled = False
        self.generation = -1
        """Of the log, since the copy began; -1: it has not."""
        self.first_dirty_offset: int | None = None
        """Up to where the log was compacted when the copy began."""

    @property
    def lag(self) -> int:
        return max(0, self.replica.log.log_end_offset - self.future.log_end_offset)


class Moves:
    def __init__(
        self,
        partitions: HostedPartitions,
        world: World,
        *,
        settle: Callable[[HostedPartition], bool],
        bytes_per_s: Callable[[], int],
    ) -> None:
        """`settle` has it written down where the replica is now, and says whether that worked; `bytes_per_s` is how fast to copy."""
        self._partitions = partitions
        self._world = world
        self._settle = settle
        self._bytes_per_s = bytes_per_s
        self._moves: dict[ReplicaKey, Move] = {}
        self._over: list[Move] = []
        """Given up: their files are to be removed, once no thread writes to them."""
        self._wake = asyncio.Event()

    def __iter__(self) -> Iterator[Move]:
        return iter([move for move in self._moves.values() if self._is_wanted(move)])

    def begin(self, replica: HostedPartition, target: DataDir) -> None:
        """Move it there, and nowhere else any more; where it is already it stays. Raises OSError or LogError if that cannot begin."""
        under_way = self._moves.get(replica.key)
        if under_way is not None and under_way.replica is replica and under_way.future.directory is target:
            return
        if under_way is not None:
            under_way.is_cancelled = True
            del self._moves[replica.key]
            self._over.append(under_way)
            self._wake.set()
        if replica.directory is target:
            return
        now_ms = self._world.now_ms()
        copy_id = UUID(int=self._world.random.getrandbits(128), version=4)
        config = replica.settings.log
        future = FutureLog(target, replica.name, replica.topic_id, config, copy_id=copy_id, now_ms=now_ms)
        self._moves[replica.key] = Move(replica, future)
        self._wake.set()
        logger.info("replica moves partition=%s from=%s to=%s", replica.name, replica.directory.path, target.path)

    async def run(self) -> None:
        """Copy until cancelled; what an earlier process left on its way goes on."""
        for directory in list(self._partitions.directories.online):
            self._resume(directory)
        while True:
            self._wake.clear()
            while self._over or self._moves:
                while self._over:
                    await self._discard(self._over.pop())
                if self._moves:
                    await self._carry_out(next(iter(self._moves.values())))
            await self._wake.wait()

    def _resume(self, directory: DataDir) -> None:
        ours = {move.future.path for move in (*self._moves.values(), *self._over)}
        for key in directory.future_keys():
            if not ours.isdisjoint(directory.futures(key)):
                continue
            replica = self._partitions.find(*key)
            try:
                if replica is not None and replica.directory is not directory:
                    self.begin(replica, directory)
                else:
                    for path in directory.futures(key):
                        remove_tree(directory.disk, path)
            except (OSError, LogError) as error:
                logger.error("move not resumed partition=%s to=%s reason=%s", key, directory.path, error)

    async def _carry_out(self, move: Move) -> None:
        try:
            is_done = await self._copy(move)
        except (OSError, LogError, RecordsError) as error:
            is_done = False
            if self._is_wanted(move):
                logger.error("replica not moved partition=%s reason=%s", move.replica.name, error)
        if not move.is_cancelled:  # or else another one may be in its place, and this one is over already
            del self._moves[move.replica.key]
            if not is_done:
                self._over.append(move)

    def _is_wanted(self, move: Move) -> bool:
        """Nobody cancelled it, and neither the replica nor its goal has gone away."""
        goal = move.future.directory
        return (
            not move.is_cancelled
            and self._partitions.hosts(move.replica)
            and goal in self._partitions.directories.online
        )

    async def _copy(self, move: Move) -> bool:
        while self._is_wanted(move):
            if move.replica.is_cut:
                await asyncio.sleep(CUT_LOOK_MS / 1000)
            elif move.generation != move.replica.log.generation:
                await self._restart(move)
            elif move.lag > 0:
                await self._copy_some(move)
            else:
                await self._world.run_to_end(move.future.flush)
                if self._is_wanted(move) and self._is_copied(move):
                    return self._take_over(move)
        return False

    async def _restart(self, move: Move) -> None:
        replica = move.replica
        log, directory = replica.log, replica.directory
        move.generation = log.generation
        move.first_dirty_offset = directory.first_dirty_offset(replica.name)
        now_ms = self._world.now_ms()
        await self._world.run_to_end(
            partial(move.future.restart, log.log_start_offset, has_gaps=log.has_gaps, now_ms=now_ms)
        )

    async def _copy_some(self, move: Move) -> None:
        log, future, now_ms = move.replica.log, move.future, self._world.now_ms()
        began_ms = self._world.monotonic_ms()
        try:
            found = log.read(future.log_end_offset, COPIED_AT_ONCE_BYTES, may_wait=False)
        except ColdRead as missing:
            await self._world.run_blocking(missing.load)
            return
        except OffsetOutOfRange:
            move.generation = -1  # retention was faster than the copy
            return
        if found is None:
            await self._world.run_to_end(partial(future.skip_to, log.log_end_offset, now_ms=now_ms))
            return
        size = len(found.slice)
        await self._world.run_to_end(lambda: future.append(found.slice.read(), now_ms=now_ms))
        took_ms = self._world.monotonic_ms() - began_ms
        await asyncio.sleep(max(0, size * 1000 / max(1, self._bytes_per_s()) - took_ms) / 1000)

    def _is_copied(self, move: Move) -> bool:
        """With what was appended since it was flushed, if that is little."""
        log, future = move.replica.log, move.future
        if move.replica.is_cut or move.generation != log.generation:
            return False
        for _ in range(LAST_READS):
            if move.lag == 0:
                return future.log_end_offset >= log.log_start_offset
            found = log.read(future.log_end_offset, LAST_BYTES, may_wait=True)
            if found is None:
                return False
            future.append(found.slice.read(), now_ms=self._world.now_ms())
        return move.lag == 0

    def _take_over(self, move: Move) -> bool:
        """The step after which the copy is the log."""
        replica, future = move.replica, move.future
        old_log, old_directory = replica.log, replica.directory
        taken = Taken(
            old_log.log_start_offset, future.log_end_offset, replica.partition.high_watermark, move.first_dirty_offset
        )
        log = future.take_over(taken, replica.settings.log, now_ms=self._world.now_ms())
        replica.log, replica.directory = log, future.directory
        if not self._settle(replica):
            replica.log, replica.directory = old_log, old_directory
            self._remove(replica, future.directory)
            return False
        self._remove(replica, old_directory)
        logger.info("replica moved partition=%s to=%s", replica.name, future.directory.path)
        return True

    def _remove(self, replica: HostedPartition, directory: DataDir) -> None:
        try:
            self._partitions.removals.add([directory.doom_log(replica.name)], 0)
        except OSError as error:
            logger.error("partition's files stay partition=%s path=%s reason=%s", replica.name, directory.path, error)

    async def _discard(self, move: Move) -> None:
        try:
            await self._world.run_to_end(move.future.discard)
        except OSError as error:
            logger.error("copy not removed path=%s reason=%s", move.future.path, error)

"""One shard that the cluster's metadata says is ours: claim it, load it, serve it, until it is somebody else's.

Claim and load are repeated whenever what is in memory may not be what is in the log.
"""

import asyncio
import logging
from dataclasses import dataclass

from millstream_coordinator.core.classic.limits import GroupLimits
from millstream_coordinator.core.records import ShardRecord
from millstream_coordinator.core.shard import Shard
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.groups import Groups
from millstream_coordinator.shell.journal import ShardJournal
from millstream_coordinator.shell.partition import AppendRefused, Deposed, OffsetsPartition
from millstream_runtime.client import ClientError
from millstream_runtime.controllers import ControllerLink
from millstream_runtime.replicated import Replicated
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

CLAIM_TIMEOUT_MS = 30_000
BACKOFF_FIRST_MS = 50
BACKOFF_MAX_MS = 10_000


class ClaimRefused(Exception):
    """The controller does not take us for the owner, or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all shards of this coordinator share."""

    node_id: int
    world: World
    controllers: ControllerLink
    clock: SteadyClock
    limits: GroupLimits
    load_buffer_bytes: int


class OwnedShard:
    def __init__(self, partition: OffsetsPartition, around: Surroundings) -> None:
        self.partition = partition
        self.groups: Groups | None = None
        """Set while the shard is served."""
        self.load_ms: int | None = None
        """How long the last load took, the claim included."""
        self._around = around
        self._epoch: int | None = None
        self._replicated: Replicated[Shard, ShardRecord] | None = None

    def is_behind(self, producer_epoch: int) -> bool:
        """Whether somebody claimed this shard after we did."""
        return self._epoch is not None and producer_epoch > self._epoch

    async def restart(self) -> None:
        """Claim and load again."""
        if self._replicated is not None:
            await self._replicated.stop(Deposed(f"{self.partition.name} was claimed again"))

    async def run(self) -> None:
        attempt = 0
        while True:
            try:
                journal, shard = await self._claim_and_load()
                attempt = 0
                reason = await self._serve(journal, shard)
            except (ClaimRefused, ClientError, Deposed, AppendRefused, RecordsError) as error:
                reason = error
            logger.warning("shard to be claimed again shard=%s reason=%s", self.partition.name, reason)
            delay_ms = min(BACKOFF_FIRST_MS << attempt, BACKOFF_MAX_MS)
            attempt = min(attempt + 1, 10)
            await asyncio.sleep(delay_ms * self._around.world.random.uniform(0.5, 1.0) / 1000)

    async def _claim_and_load(self) -> tuple[ShardJournal, Shard]:
        around = self._around
        started_ms = around.world.monotonic_ms()
        self._epoch = None
        producer_id, epoch = await self._ask_for_epoch()
        journal = ShardJournal(
            self.partition,
            around.world.now_ms,
            coordinator_id=around.node_id,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        end_offset = await journal.claim()
        shard = Shard(around.limits)
        records = await journal.load(shard, end_offset, around.load_buffer_bytes)
        self._epoch = epoch
        self.load_ms = around.world.monotonic_ms() - started_ms
        logger.info(
            "shard loaded shard=%s epoch=%d records=%d groups=%d ms=%d",
            self.partition.name,
            epoch,
            records,
            len(set(shard.stored) | set(shard.offsets)),
            self.load_ms,
        )
        return journal, shard

    async def _ask_for_epoch(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=self.partition.name, transaction_timeout_ms=CLAIM_TIMEOUT_MS)
        answer = await self._around.controllers.request(request, timeout_ms=CLAIM_TIMEOUT_MS)
        assert isinstance(answer, InitProducerIdResponse)
        if answer.error_code != ErrorCode.NONE:
            raise ClaimRefused(f"{self.partition.name}: {ErrorCode(answer.error_code).name}")
        return answer.producer_id, answer.producer_epoch

    async def _serve(self, journal: ShardJournal, shard: Shard) -> Exception:
        """Serve until an append fails or the shard is taken away; return why."""
        around = self._around
        shard.begin(around.clock.now_ms())
        replicated = Replicated[Shard, ShardRecord](shard, journal, around.clock.now_ms)
        self._replicated = replicated
        try:
            async with asyncio.TaskGroup() as tasks:
                self.groups = Groups(replicated, around.clock, tasks, journal.claimed)
                try:
                    return await replicated.wait_failed()
                finally:
                    self.groups.close("the shard is not owned here any more")
                    self.groups = None
                    await replicated.stop(Deposed(f"{self.partition.name} is not owned here any more"))
        finally:
            self._replicated = None

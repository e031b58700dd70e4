"""One shard that the cluster's metadata says is ours: claim it, load it, serve it, until it is somebody else's.

Claim and load are repeated whenever what is in memory may not be what is in the log. While this node cannot be sure of its
session at the controller, somebody else may own the shard by now: then nothing is answered before the claim is in the log again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.shards.journal import Codec, ShardJournal
from millstream_coordinator.shell.shards.partition import AppendRefused, Deposed, ShardPartition
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.session import Session
from millstream_runtime.replicated import Machine, Replicated
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
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
    session: Session
    clock: SteadyClock
    load_buffer_bytes: int


class Service(Protocol):
    """What answers for a shard while it is served."""

    def close(self, reason: str) -> None:
        """The shard is not ours any more: everyone who waits has to look for its new owner."""


M = TypeVar("M", bound=Machine)
S = TypeVar("S", bound=Service)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardKind(Generic[M, S]):
    """What the shards of one coordinator topic are made of."""

    topic: str
    codec: Codec[Any]
    new_machine: Callable[[], M]
    serve: Callable[[Replicated[M, Any], asyncio.TaskGroup, ShardClaimed], S]
    """Begin to serve a machine whose log is read."""


class OwnedShard(Generic[M, S]):
    def __init__(self, partition: ShardPartition, kind: ShardKind[M, S], around: Surroundings) -> None:
        self.partition = partition
        self.service: S | None = None
        """Set while the shard is served."""
        self._kind = kind
        self.load_ms: int | None = None
        """How long the last load took, the claim included."""
        self._around = around
        self._claimed: tuple[int, int] | None = None
        self._replicated: Replicated[M, Any] | None = None

    @property
    def machine(self) -> M | None:
        """The shard's state while it is served; what it says may not be committed yet."""
        return self._replicated.machine if self._replicated is not None and self.service is not None else None

    def is_behind(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether somebody claimed this shard after we did; the ids that a shard gets only grow."""
        return self._claimed is not None and (producer_id, producer_epoch) > self._claimed

    def restart(self, reason: str) -> None:
        """From this moment on answer nothing from memory; claim and load again."""
        self.service = None
        if self._replicated is not None:
            self._replicated.refuse(Deposed(f"{self.partition.name}: {reason}"))

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

    async def _claim_and_load(self) -> tuple[ShardJournal[Any], M]:
        around = self._around
        started_ms = around.world.monotonic_ms()
        session = around.session.number
        self._claimed = None
        producer_id, epoch = await self._ask_for_epoch()
        journal = ShardJournal(
            self.partition,
            self._kind.codec,
            around.world.now_ms,
            coordinator_id=around.node_id,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        end_offset = await journal.claim()
        shard = self._kind.new_machine()
        records = await journal.load(shard, end_offset, around.load_buffer_bytes)
        if around.session.number != session:
            raise ClaimRefused(f"{self.partition.name}: the session ended while it was loaded")
        self._claimed = producer_id, epoch
        self.load_ms = around.world.monotonic_ms() - started_ms
        logger.info(
            "shard loaded shard=%s epoch=%d records=%d ms=%d",
            self.partition.name,
            epoch,
            records,
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

    async def _serve(self, journal: ShardJournal[Any], shard: M) -> Exception:
        """Serve until an append fails or the shard is taken away; return why."""
        around = self._around
        claim = (journal.claimed,)
        replicated = Replicated[M, Any](
            shard, journal, around.clock.now_ms, barrier=lambda: () if around.session.is_certain else claim
        )
        self._replicated = replicated
        try:
            async with asyncio.TaskGroup() as tasks:
                service = self.service = self._kind.serve(replicated, tasks, journal.claimed)
                try:
                    return await replicated.wait_failed()
                finally:
                    service.close("the shard is not owned here any more")
                    self.service = None
                    await replicated.stop(Deposed(f"{self.partition.name} is not owned here any more"))
        finally:
            self._replicated = None

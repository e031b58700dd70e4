"""The active controller: takes over by the store's compare-and-swap, then hosts the machine and keeps it up.

Everything it knows dies with it: when an append fails, whoever runs it loads the log anew and starts another one.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.members import Node
from millstream_cluster.records import MetadataRecord
from millstream_controller.core.healing import Loss
from millstream_controller.core.logins.delegation_tokens import TokenIds, sweep_tokens
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.observers import Observers
from millstream_controller.core.settings import Settings
from millstream_controller.core.takeover import NewCluster, prove_active, resign, take_over
from millstream_controller.core.upkeep import Now, SoftState, keep_up, overdue
from millstream_controller.shell.deaths import Deaths
from millstream_controller.shell.journal import StoreJournal
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_controller.shell.store import Store, StoreError, StoreUnavailable
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_runtime.serving.context import Connection
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

T = TypeVar("T")

TICK_MS = 250
VERIFICATIONS = 4
"""How often a controller looks whether it is the active one within the time that it is believed: one look may fail."""
RESIGN_MS = 2_000
FOLLOWED_MS_MAX = 500
"""So long a broker that stops waits until others know who took over: one that is silent must not hold it."""


class NotActive(Exception):
    """This controller is not the active one (any more): ask another."""


class LogWentBack(Exception):
    """A node has applied metadata that the log does not contain: the store was restored from an older state."""


class Active:
    """Believed (`verified`) only for a bounded time after the store last proved that nobody else had appended.

    Beyond it another controller may have been elected, fenced nodes and moved what they led, for as long as this one cannot
    see it. So it answers nobody and decides nothing until the store has proved it again; who may be active is still decided
    by the store's compare-and-swap alone.
    """

    def __init__(self, settings: Settings, world: World, store: Store, log: MetadataLog, writer: str) -> None:
        self.log = log
        self.observers = Observers(world.now_ms())
        self.epoch = log.epoch + 1
        self._settings = settings
        self._world = world
        self._store = store
        machine = ControllerMachine(settings, Image.of(log.image.records(), log.image.offset))
        self._journal = StoreJournal(store, log, writer, self.epoch, world)
        self._replicated: Replicated[ControllerMachine, MetadataRecord] = Replicated(
            machine, self._journal, world.now_ms
        )
        self._soft = SoftState.new(settings)
        self._sessions = self._soft.sessions
        self.token_ids = TokenIds()
        self._settled_offset = -1
        self._changed = asyncio.Event()
        self._followed = asyncio.Event()
        self._deaths = Deaths(world, lambda: self.machine.image, self._died)

    @property
    def machine(self) -> ControllerMachine:
        """For looking at; what it says may not be committed yet."""
        return self._replicated.machine

    @property
    def loss(self) -> Loss:
        """Which brokers are gone, and whether their replicas are made again."""
        return self._soft.healing.loss

    @property
    def verified(self) -> bool:
        """Whether this controller may be believed: it was the active one a short time ago."""
        verified_ms = self._journal.verified_ms
        return verified_ms is not None and self._world.monotonic_ms() - verified_ms < self._settings.verify_timeout_ms

    async def take_over(
        self, controller_id: int, *, host: str, port: int, cluster_id: str | None, new_cluster: NewCluster
    ) -> None:
        """Depose every earlier controller; raises what the store says if another was faster."""
        try:
            await self._replicated.execute(
                lambda machine, _: take_over(
                    machine,
                    controller_id,
                    host=host,
                    port=port,
                    cluster_id=cluster_id,
                    new_cluster=new_cluster,
                )
            )
        except NotCommitted:
            raise await self._replicated.wait_failed() from None
        await self._store.tidy()
        logger.info("controller active id=%d epoch=%d cluster=%s", controller_id, self.epoch, self.log.image.cluster_id)

    async def resign(self) -> None:
        """Say that this controller stops; without an answer in time its standbys find out by its silence."""
        try:
            async with asyncio.timeout(RESIGN_MS / 1000):
                await self.execute(resign)
        except (NotActive, TimeoutError) as error:
            logger.info("controller leaves without a word epoch=%d reason=%s", self.epoch, error)

    async def execute(self, decide: Callable[[ControllerMachine], Decision[MetadataRecord, T]]) -> T:
        """Decide, wait until all that the decision saw is committed, answer; NotActive if that will never be."""

        def noted(machine: ControllerMachine, now_ms: int) -> Decision[MetadataRecord, T]:
            decision = decide(machine)
            if decision.records:
                self._changed.set()
            return decision

        try:
            return await self._replicated.execute(noted)
        except NotCommitted as error:
            raise NotActive(str(error)) from error

    def heard(
        self, node_id: int, broker_epoch: int, connection: Connection, *, replaceable: Iterable[UUID] = ()
    ) -> None:
        """A node spoke: its session goes on, whether or not the store lets us answer.

        `replaceable`: those of its directories that failed and whose partitions the others have room for.
        """
        node = self.machine.image.node(node_id)
        if node is not None and node.epoch == broker_epoch:
            self._sessions.heard(node, self._world.monotonic_ms())
            self._deaths.heard(node_id, broker_epoch, connection)
            self._soft.healing.directories.told(node, replaceable)

    def followed(self, replica_id: int, fetch_offset: int, *, metadata_version: int) -> None:
        """Whoever follows the log asks from here, and so has applied all before."""
        self.observers.fetched(
            replica_id, fetch_offset, self.log.end_offset, self._world.now_ms(), metadata_version=metadata_version
        )
        self._followed.set()

    async def until_followed(self) -> None:
        """Return once all live nodes have applied what is committed now, or have had their time for it."""
        end_offset = self.log.end_offset
        try:
            async with asyncio.timeout(FOLLOWED_MS_MAX / 1000):
                while not self.observers.have_applied(end_offset, self._live_nodes()):
                    self._followed.clear()
                    await self._followed.wait()
        except TimeoutError:
            return

    def _live_nodes(self) -> list[int]:
        return [node.node_id for node in self.log.image.nodes.values() if not node.fenced]

    def _died(self, node: Node) -> None:
        self._sessions.end(node, self._world.monotonic_ms())
        self._changed.set()

    def session_live(self, node_id: int) -> bool:
        node = self.machine.image.node(node_id)
        return node is not None and not node.fenced and self._sessions.live(node, self._world.monotonic_ms())

    async def run(self) -> None:
        """Keep up until an append fails; raises why."""
        async with asyncio.TaskGroup() as tasks:
            chores = [
                tasks.create_task(self._keep_up()),
                tasks.create_task(self._verify()),
                tasks.create_task(self._deaths.run()),
                tasks.create_task(self._sweep_tokens()),
            ]
            failure = await self._replicated.wait_failed()
            for chore in chores:
                chore.cancel()
        raise failure

    async def doubt(self, finding: str) -> None:
        """A node has applied what the log does not contain. If this still is the active controller, the log went back: stop."""
        await self.execute(prove_active)
        await self.stop(
            LogWentBack(
                f"the metadata log went back: {finding}; put the newest copy of the metadata store in its place "
                "(docs/operations.md, 'A metadata store that went back')"
            )
        )

    async def stop(self, reason: Exception) -> None:
        """Take no more commands; `run` raises the reason."""
        await self._replicated.stop(reason)
        await self._journal.stop()

    async def _verify(self) -> None:
        """Look again and again whether somebody else took over; who serves reads only would never find out."""
        interval_s = self._settings.verify_timeout_ms / VERIFICATIONS / 1000
        aside = False
        while True:
            await asyncio.sleep(interval_s)
            reason: Exception | None = None
            try:
                async with asyncio.timeout(interval_s):
                    await self._journal.verify()
            except (StoreUnavailable, TimeoutError) as error:
                reason = error  # an outage deposes nobody: whoever wants to take over needs the store too
            except StoreError as error:
                await self.stop(error)
            if self.verified:
                if aside:
                    logger.info("controller believed again epoch=%d", self.epoch)
                aside = False
            elif not aside:
                aside = True
                logger.warning("controller steps aside epoch=%d reason=store_not_verified error=%s", self.epoch, reason)

    async def _keep_up(self) -> None:
        """Decide what time demands, after each change, at each tick and when a session ends, for as long as this controller is believed.

        A pause of ours, or a store that was away, says nothing about the nodes: their sessions start anew.
        """
        before_ms = self._world.monotonic_ms()
        while True:
            self._changed.clear()
            if self.verified:
                now_ms = self._world.monotonic_ms()
                if now_ms - before_ms > TICK_MS + self._settings.patience_ms:
                    logger.warning("sessions start anew reason=paused_for_%d_ms", now_ms - before_ms)
                    self._sessions.start_anew()
                before_ms = now_ms
                try:
                    while await self.execute(self._step):
                        pass
                except NotActive:
                    return
            try:
                async with asyncio.timeout(self._quiet_ms() / 1000):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _quiet_ms(self) -> int:
        """For how long nothing has to be decided unless something changes: clients of a silent node wait for its session's end."""
        if not self.verified:
            return TICK_MS
        now_ms = self._world.monotonic_ms()
        end_ms = self._sessions.next_end_ms(self.machine.image.nodes.values(), now_ms)
        return TICK_MS if end_ms is None else min(TICK_MS, max(1, end_ms - now_ms))

    async def _sweep_tokens(self) -> None:
        """Until they are swept, tokens that are over still log in, to a session that ends at once."""
        while True:
            await asyncio.sleep(self._settings.tokens.check_interval_ms / 1000)
            try:
                while await self.execute(lambda machine: sweep_tokens(machine, self._world.now_ms())):
                    pass
            except NotActive:
                return

    def _step(self, machine: ControllerMachine) -> Decision[MetadataRecord, bool]:
        now_ms = self._world.monotonic_ms()
        for node in overdue(machine, self._sessions, now_ms):
            logger.warning("session expired node=%d epoch=%d", node.node_id, node.epoch)
        self._sessions.keep(machine.image.nodes.values())
        suspended = self.loss.suspended
        now = Now(now_ms, self._world.now_ms())
        decision = keep_up(machine, self._soft, now, settled_offset=self._settled_offset)
        if self.loss.suspended and not suspended:
            logger.warning("replicas are not made again reason=too_many_brokers_away away=%d", self.loss.away)
        elif suspended and not self.loss.suspended:
            logger.info("replicas are made again where brokers are gone away=%d", self.loss.away)
        if not decision.reply:
            self._settled_offset = machine.image.offset
        return decision

"""What handlers get of the broker: its view of the cluster, its partitions, and the ways to others.

A container of parts and the few lookups that several handlers share; each part keeps its own state.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from millstream_broker.config import BrokerConfig
from millstream_broker.core.appends.refused_batches import RefusedBatches
from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.standing import NO_OFFSET
from millstream_broker.core.reads.fetch_session import FetchSessions
from millstream_broker.shell.client_metrics import ClientMetrics
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.metrics import BrokerMetrics
from millstream_broker.shell.partition.effects import perform
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.moves import Moves
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_broker.shell.producer_id_blocks import ProducerIdBlocks
from millstream_broker.shell.replication.leader_throttling import LeaderThrottling
from millstream_broker.shell.throttling import Throttling
from millstream_broker.shell.topic_changes import TopicChangesAwaited
from millstream_broker.shell.topic_creation import TopicCreation
from millstream_broker.shell.transactions.verification import Verification
from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource
from millstream_cluster.answers.metadata import any_live_broker
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_log import DataDir, StorageError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.live_coordinators import LiveCoordinators
from millstream_runtime.nodes.suspects import Suspects
from millstream_runtime.serving.context import CloseConnection, RequestContext
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.primitive import uuid_of

if TYPE_CHECKING:
    from millstream_broker.shell.share.groups import ShareGroups

logger = logging.getLogger(__name__)

_READ, _CLUSTER_ACTION = AclOperation.READ, AclOperation.CLUSTER_ACTION
_TOPIC, _CLUSTER = AclResource.TOPIC, AclResource.CLUSTER
FETCH_SESSION_EVICTION_MS = 120_000
CLUSTER_PATIENCE_MS = 5_000
UNREADABLE_TOLD_MS = 60_000


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        world: World,
        controllers: ControllerLink,
        partitions: HostedPartitions,
        delays: Delays,
        *,
        image: Callable[[], Image],
        log_dir_space: Callable[[Path], tuple[int, int]],
    ) -> None:
        self.config = config
        """As it is now, with what was set dynamically."""
        self._config_at_start = config
        self.audit_topic = config.audit_topic
        self.world = world
        self.controllers = controllers
        self.partitions = partitions
        self.delays = delays
        self.fetch_sessions = FetchSessions(slots=config.fetch_session_slots, eviction_ms=FETCH_SESSION_EVICTION_MS)
        self.topic_creation = TopicCreation(config, controllers)
        self.topic_changes = TopicChangesAwaited(partitions, image, node_id=config.node_id)
        self.leader_throttling = LeaderThrottling(lambda: self.config, world)
        self.throttling = Throttling(world, config.limits.quota_windows)
        self.refused_batches = RefusedBatches()
        self._interest = Interest()
        self.suspects = Suspects(world, image, self._interest)
        self.live_coordinators = LiveCoordinators(world, image, self._interest)
        self.verification = Verification(config, world, image, self._interest)
        self._share_groups: ShareGroups | None = None
        self.share_groups_begun = asyncio.Event()
        self.producer_ids = ProducerIdBlocks(config, controllers)
        self.metrics = BrokerMetrics(config.node_id, partitions, lambda: self.share_groups)
        self.client_metrics = ClientMetrics(config, world, image)
        self.log_dir_space = log_dir_space
        self.moves: Moves | None = None
        """Of replicas between directories, once the metadata is proven."""
        partitions.on_flush_failed = self.flush_failed
        partitions.on_hanging, partitions.on_answering = self.directory_hangs, self.directory_answers
        self.is_leaving = False
        """It asks the controller for leave to stop."""
        self._failing: set[ReplicaKey] = set()
        """Partitions whose last append the file system refused: said once, not for every producer's retry."""
        self._unreadable: dict[ReplicaKey, int] = {}
        """When it was last said of a partition that it cannot be read."""
        self._image = image
        self._cluster_is_visible = asyncio.Event()

    @property
    def image(self) -> Image:
        return self._image()

    @property
    def share_groups(self) -> "ShareGroups":
        """Made when somebody asks for them, as most brokers are never asked."""
        if self._share_groups is None:
            from millstream_broker.shell.share.groups import ShareGroups

            self._share_groups = ShareGroups(
                self._config_at_start, self.world, self.delays, self._image, self.topic_creation, self._interest
            )
            self.share_groups_begun.set()
        return self._share_groups

    @property
    def sees_cluster(self) -> bool:
        """The metadata is known and somebody in it is alive: what clients are told of the cluster is of use to them."""
        return self._cluster_is_visible.is_set()

    def on_image(self, image: Image) -> None:
        """The whole metadata is known and has just moved."""
        self.config = self._config_at_start.as_set(image)
        self.throttling.on_image(image)
        self.partitions.directories.cordoned = self.config.cordoned_log_dirs
        if self._share_groups is not None:
            self._share_groups.on_image()
        self._interest.on_change()
        if any_live_broker(image) == NO_NODE:
            self._cluster_is_visible.clear()
        else:
            self._cluster_is_visible.set()

    async def close(self) -> None:
        """Let go of other nodes."""
        await self.verification.close()
        if self._share_groups is not None:
            await self._share_groups.close()

    async def until_it_sees_cluster(self) -> None:
        """Hold a client rather than tell it that there is nobody: librdkafka takes that for an answer and waits a minute."""
        try:
            async with asyncio.timeout(CLUSTER_PATIENCE_MS / 1000):
                await self._cluster_is_visible.wait()
        except TimeoutError:
            raise CloseConnection("no live broker is known") from None

    def name_of(self, topic: str | UUID) -> str | None:
        """The topic's name; None if no topic has this id."""
        if isinstance(topic, str):
            return topic
        found = self.image.topic(topic)
        return None if found is None else found.name

    def may_read(self, topic: str | UUID, context: RequestContext, *, as_replica: bool = False) -> bool:
        """Whether who asks may read it now: a fetch that waits, or a session, outlives what was granted.

        Ids are no secret: one of no topic is not refused.
        """
        may = context.may_what
        if may is None:
            return True
        operation, resource, name = _READ, _TOPIC, self.name_of(topic)
        if as_replica:
            operation, resource, name = _CLUSTER_ACTION, _CLUSTER, CLUSTER_NAME
        if name is None or may(operation, resource, name):
            return True
        context.denied(operation, resource, name)
        return False

    def locate(
        self, topic: str | bytes | UUID, index: int, current_leader_epoch: int = -1, *, or_copy: bool = False
    ) -> HostedPartition | ErrorCode:
        """The replica to read or write as its leader, or why this broker is not the one to ask.

        `or_copy`: a follower does, too, if it is in sync; a log that is being cut is none to read.
        """
        replica = self.partitions.find(topic, index)
        if replica is None:
            return self._absence(uuid_of(topic) if isinstance(topic, bytes) else topic, index)
        partition = replica.partition
        if partition.leads and current_leader_epoch in (-1, partition.leader_epoch):
            return replica
        refusal = partition.refusal(current_leader_epoch)
        is_copy = refusal is ErrorCode.NOT_LEADER_OR_FOLLOWER and partition.follows_in_sync and not replica.is_cut
        return replica if or_copy and is_copy else refusal

    def appended(self, replica: HostedPartition, size: int, *, ended_from: int = NO_OFFSET) -> None:
        """A batch is in the log: commit it if that is up to us, count it, wake who waited for it.

        `ended_from` is where the transaction began whose end the batch is.
        """
        log = replica.log
        unstable = log.first_unstable_offset
        first_unstable = NO_OFFSET if unstable is None else unstable
        is_heard = len(self.delays) > 0
        effects = replica.partition.on_appended(log.log_end_offset, size, first_unstable, ended_from, is_heard)
        if self._failing and replica.key in self._failing:
            self._failing.discard(replica.key)
            replica.refusals.on_appended()
            logger.info("append succeeds again partition=%s", replica.name)
        metrics = self.metrics
        metrics.appended_bytes += size
        metrics.appended_batches += 1
        if is_heard:
            perform(effects, replica, self.delays)
        if replica.settings.visible_after_flush:
            self.partitions.due_flushes.add(replica)

    def fetched(
        self,
        replica: HostedPartition,
        offset: int,
        *,
        replica_id: int,
        broker_epoch: int,
        arrived_ms: int,
        log_start_offset: int,
        cannot_append: bool = False,
    ) -> None:
        """A follower, whom its admission has found to be itself, has everything before `offset`: more may be committed."""
        node = self.image.node(replica_id)
        fetched = replica.partition.on_fetched(
            replica_id,
            offset,
            broker_epoch=broker_epoch,
            now_ms=arrived_ms,
            may_join=node is not None and not node.fenced and node.epoch == broker_epoch,
            log_start_offset=log_start_offset,
            cannot_append=cannot_append,
        )
        perform(fetched, replica, self.delays)

    def when_committed(
        self, replica: HostedPartition, offset: int, timeout_ms: int, *, then: ErrorCode = ErrorCode.NONE
    ) -> "asyncio.Future[ErrorCode]":
        """`then`, once the record at `offset`, which is not committed yet, is; or why nobody here will know."""
        partition, delays = replica.partition, self.delays
        answer: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

        def end(code: ErrorCode) -> None:
            if not answer.done():
                answer.set_result(then if code is ErrorCode.NONE else code)

        wait = partition.await_commit(offset, end)
        timer = delays.wait(lambda _: end(ErrorCode.REQUEST_TIMED_OUT), {}, missing=1, wait_ms=timeout_ms)

        def forget(_: "asyncio.Future[ErrorCode]") -> None:
            partition.cancel(wait)
            delays.cancel(timer)

        answer.add_done_callback(forget)
        return answer

    def storage_failed(self, replica: HostedPartition, error: StorageError) -> None:
        """Note that a log refused an append; what it holds is intact, the producer is told, the broker goes on."""
        self._ask_for_another_leader(replica, str(error), at_once=replica.log.has_failed)
        if replica.key in self._failing:
            return
        self._failing &= self.partitions.keys
        self._failing.add(replica.key)
        logger.error("append failed partition=%s reason=%s", replica.name, error)

    def flush_failed(self, replica: HostedPartition, error: Exception) -> None:
        """Note that a log takes no more appends, before somebody meets that: whoever can should lead, or not be waited for."""
        if replica.partition.leads:
            self._ask_for_another_leader(replica, str(error), at_once=True)
        else:
            replica.refusals.on_refused(self.world.monotonic_ms())
            self.partitions.on_question(replica)

    def directory_hangs(self, directory: DataDir) -> None:
        """Have others lead what is there, as long as enough stay in sync: what its leaders write may never be on the disk."""
        self.partitions.directories.hanging.add(directory)
        logger.error("log directory hangs path=%s", directory.path)
        for replica in self.partitions:
            if replica.directory is directory and len(replica.partition.isr) > replica.partition.min_insync_replicas:
                self._ask_for_another_leader(replica, "its disk hangs", at_once=True)

    def directory_answers(self, directory: DataDir) -> None:
        if directory in self.partitions.directories.hanging:
            self.partitions.directories.hanging.discard(directory)
            logger.warning("log directory answers again path=%s", directory.path)

    def _ask_for_another_leader(self, replica: HostedPartition, reason: str, *, at_once: bool) -> None:
        """`at_once`: it is known to last."""
        now_ms = self.world.monotonic_ms()
        refusals = replica.refusals
        refusals.on_refused(now_ms)
        if refusals.asks(now_ms, lasts=at_once) and (resigns := replica.partition.on_append_refused()):
            refusals.on_asked(now_ms)
            logger.warning("another leader asked for partition=%s reason=%s", replica.name, reason)
            perform(resigns, replica, self.delays)

    def read_failed(self, replica: HostedPartition, error: StorageError) -> None:
        """Note that a log cannot be read where somebody wants to: its readers are told, and ask again and again."""
        now_ms = self.world.monotonic_ms()
        if now_ms - self._unreadable.get(replica.key, -UNREADABLE_TOLD_MS) >= UNREADABLE_TOLD_MS:
            hosted = self.partitions.keys
            self._unreadable = {key: at_ms for key, at_ms in self._unreadable.items() if key in hosted}
            self._unreadable[replica.key] = now_ms
            logger.error("read failed partition=%s reason=%s", replica.name, error)

    def _absence(self, topic: str | UUID, index: int) -> ErrorCode:
        partition = self.image.partition(topic, index)
        if partition is not None:
            key = (partition.topic_id, index)
            partitions = self.partitions
            failed = key in partitions.failed or key in partitions.lost or key in partitions.offline
            # Either way clients ask again: the log is about to be made, or its disk has to get better.
            return ErrorCode.KAFKA_STORAGE_ERROR if failed else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if isinstance(topic, UUID) and self.image.topic(topic) is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

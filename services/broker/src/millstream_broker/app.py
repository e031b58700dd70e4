"""The broker as a service: opens its data, follows the metadata, registers, serves, and leaves in order.

Order is all that is decided here. The logs open before anybody connects; nothing in the data directory is made, renamed or
deleted before the metadata is proven; clean shutdown hands leadership over, lets clients go, then flushes, then says so.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from uuid import UUID

from millstream_broker.api import HANDLERS
from millstream_broker.config import BrokerConfig
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.applied_metadata import AppliedMetadata
from millstream_broker.shell.partition.hosting import Hosting
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_broker.shell.partition.moves import Moves
from millstream_broker.shell.partition.open_log_dirs import open_log_dirs
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_broker.shell.partition.spare_room import SpareRoom
from millstream_broker.shell.partition.whereabouts import Whereabouts
from millstream_broker.shell.replication.isr_proposals import IsrProposals
from millstream_broker.shell.replication.replication import Replication
from millstream_broker.shell.upkeep.cleaner import Cleaner
from millstream_broker.shell.upkeep.upkeep import Upkeep
from millstream_cluster.features import SUPPORTED_FEATURES, finalized_features
from millstream_cluster.ids import NodeId
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord
from millstream_log import CorruptFile, DataDir, LogError, UnusableDirectory
from millstream_log.disk import DISK, Disk
from millstream_runtime.nodes.audit_topic import AuditTopic
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.follower import MetadataFollower
from millstream_runtime.nodes.registration import NodeIdentity, Registration, health_of
from millstream_runtime.service import Health, ServiceFailed
from millstream_runtime.serving.accounts import Accounts
from millstream_runtime.serving.api_versions import Identity
from millstream_runtime.serving.authorization import authorizer_of
from millstream_runtime.serving.door import Door
from millstream_runtime.serving.listeners import advertise, listen_on
from millstream_runtime.serving.server import Features, Server
from millstream_runtime.world import World

logger = logging.getLogger(__name__)


class BrokerApp:
    """A `Service`."""

    def __init__(self, config: BrokerConfig, world: World, disk: Disk = DISK, door: Door | None = None) -> None:
        """`door`: where another role of this process joins the broker's listeners."""
        self.config = config
        self._door = door
        self.name = f"broker-{config.node_id}"
        self.ready = asyncio.Event()
        self.listeners: dict[str, tuple[str, int]] = {}
        self._world = world
        self._disk = disk
        self.partitions: HostedPartitions | None = None
        """While it runs: to be looked at, not touched. So is `follower`."""
        self.follower: MetadataFollower | None = None
        self.registration: Registration | None = None
        """Once it registers: to be looked at, not touched."""
        if config.audit_topic is not None:
            world.audit_records.is_read = True

    def health(self) -> Health:
        return health_of(self.registration, self.ready)

    async def run(self) -> None:
        directories = self._open_directories()
        delays = Delays(self._world)
        partitions = HostedPartitions(directories, delays, self._world, node_id=self.config.node_id)
        self.partitions = partitions
        try:
            applied = self._applied_metadata(directories)
            await self._load(partitions, applied)
            await self._serve(partitions, applied, delays)
        finally:
            self._close(partitions)

    # ---- the data ----

    def _open_directories(self) -> LogDirs:
        def new_id() -> UUID:
            return UUID(int=self._world.random.getrandbits(128), version=4)

        config = self.config
        try:
            return open_log_dirs(
                config.data_dirs,
                node_id=config.node_id,
                cluster_id=config.cluster_id,
                new_id=new_id,
                disk=self._disk,
                generator=self._world.random,
            )
        except (UnusableDirectory, CorruptFile) as error:
            raise ServiceFailed(str(error)) from error
        except OSError as error:
            raise ServiceFailed(f"cannot use {config.data_dir}: {error.strerror}") from error

    async def _load(self, partitions: HostedPartitions, applied: AppliedMetadata) -> None:
        directories = partitions.directories
        clean = str(directories.was_clean).lower()
        try:
            await self._world.run_to_end(partial(partitions.load, applied.places))
        except (LogError, OSError) as error:
            paths = ", ".join(str(path) for path in self.config.data_dirs)
            raise ServiceFailed(f"cannot open the logs in {paths}: {error}") from error
        logger.info("logs opened broker=%d partitions=%d clean=%s", self.config.node_id, len(partitions), clean)

    def _close(self, partitions: HostedPartitions) -> None:
        if self._world.killed:
            partitions.abandon()
            return
        epoch = self.registration.broker_epoch if self.registration is not None else -1
        try:
            partitions.close(epoch)
        except (LogError, OSError) as error:
            # Without its mark the next start recovers what did not get to the disk.
            logger.error("logs not closed cleanly broker=%d reason=%s", self.config.node_id, error)
        else:
            logger.info("broker stopped broker=%d", self.config.node_id)

    # ---- serving ----

    async def _serve(self, partitions: HostedPartitions, applied: AppliedMetadata, delays: Delays) -> None:
        config, world = self.config, self._world
        link = self._controllers()
        directories = partitions.directories
        space = self._disk.space
        room = SpareRoom(partitions, space)
        hosting = Hosting(config, partitions, applied, room)
        hosting.on_directories_failed(directories.take_failed())

        def on_records(image: Image, records: Sequence[MetadataRecord]) -> None:
            if self.registration is not None:
                self.registration.on_image(image)
            hosting.on_records(image, records)
            if self.registration is not None:
                self.registration.on_settled()
            if hosting.serves:
                _on_image(image, broker, server)
            broker.topic_changes.on_records(records)

        follower = MetadataFollower(
            world, link, node_id=config.node_id, on_records=on_records, applied_before=applied.stored
        )
        self.follower = follower
        broker = Broker(config, world, link, partitions, delays, image=lambda: follower.image, log_dir_space=space)
        server = self._server(broker, follower)
        server.counters.throttled += (broker.throttling.produce.throttled, broker.throttling.fetch.throttled)
        world.metrics.register(broker.metrics)
        world.metrics.register(broker.client_metrics)
        try:
            await self._listen(server)
            async with asyncio.TaskGroup() as tasks:
                children = [tasks.create_task(follower.run())]
                await follower.caught_up.wait()
                self._bind_cluster(directories, follower.image)
                hosting.serve(follower.image)
                _on_image(follower.image, broker, server)
                broker.topic_creation.enabled = True
                registration = self._register(link, directories, hosting, room)
                upkeep = Upkeep(lambda: broker.config, world, partitions)
                whereabouts = Whereabouts(broker, lambda: registration.broker_epoch)
                isr_proposals = IsrProposals(broker, lambda: registration.broker_epoch)
                parts = (registration, broker.topic_creation, whereabouts, isr_proposals)
                children += [tasks.create_task(part.run()) for part in parts]
                children.append(tasks.create_task(_keep_shares(broker)))
                children.append(tasks.create_task(self._watch(directories, hosting, registration)))
                noted = applied.run(world, lambda: follower.applied, config.checkpoint_interval_ms)
                children.append(tasks.create_task(noted))
                chores = [upkeep.run, *self._chores(broker, hosting, registration)]
                keeping = self._keep_once_proven(follower, registration, hosting, chores)
                children.append(tasks.create_task(keeping))
                try:
                    await registration.unfenced.wait()
                    children.append(tasks.create_task(broker.producer_ids.run(lambda: registration.broker_epoch)))
                    await broker.producer_ids.stocked.wait()
                    self.ready.set()
                    logger.info("broker ready broker=%d listeners=%s", config.node_id, self.listeners)
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    await self._leave(children, registration, upkeep, broker, server)
                    raise
        finally:
            if not world.killed:
                applied.store(follower.applied)
            delays.close()
            world.metrics.unregister(broker.metrics)
            world.metrics.unregister(broker.client_metrics)
            await server.close()
            await broker.close()
            await link.close()

    def _chores(
        self, broker: Broker, hosting: Hosting, registration: Registration
    ) -> Sequence[Callable[[], Coroutine[None, None, None]]]:
        partitions, world = broker.partitions, self._world
        replication = Replication(broker, broker_epoch=lambda: registration.broker_epoch)
        broker.moves = Moves(
            partitions, world, settle=hosting.on_moved, bytes_per_s=lambda: broker.config.log_dirs_bytes_per_s
        )
        chores = [hosting.run, partitions.removals.run, replication.run, broker.moves.run]
        if self.config.audit_topic is not None:
            chores.append(self._audit_topic(self.config.audit_topic, broker).run)
        if self.config.cleaner.enabled:
            chores.append(Cleaner(lambda: broker.config.cleaner, world, partitions).run)
        return chores

    def _controllers(self) -> ControllerLink:
        config = self.config
        return ControllerLink(
            self._world,
            config.controllers,
            client_id=self.name,
            node_id=NodeId(config.node_id),
            credentials=config.security.controllers,
        )

    def _audit_topic(self, topic: str, broker: Broker) -> AuditTopic:
        credentials = self.config.security.nodes
        nodes = Nodes(self._world, client_id=self.name, node_id=NodeId(self.config.node_id), credentials=credentials)
        return AuditTopic(topic, nodes, self._world, lambda: broker.image, want=broker.topic_creation.want)

    async def _watch(self, directories: LogDirs, hosting: Hosting, registration: Registration) -> None:
        def on_failed(failed: Sequence[DataDir]) -> None:
            hosting.on_directories_failed(failed)
            registration.on_log_dirs()

        await directories.run(self._world, on_failed)

    def _server(self, broker: Broker, follower: MetadataFollower) -> Server[Broker]:
        return Server(
            self.name,
            HANDLERS,
            broker,
            self._world,
            self.config.limits,
            features=lambda: _features(follower.image),
            identity=lambda: _identity(follower.image, self.config.node_id),
            accounts=Accounts(
                self._world,
                lambda: follower.image if follower.caught_up.is_set() else None,
                follower.caught_up.wait,
                self.config.token_secret,
            ),
            authorizer=authorizer_of(self.config.authorizer, lambda: follower.image.acls),
        )

    async def _listen(self, server: Server[Broker]) -> None:
        config = self.config
        self.listeners |= await listen_on(
            server, config.listeners, nodes_listener=config.nodes_listener, security=config.security
        )
        if self._door is not None:
            self._door.open(server, self.listeners)

    async def _keep_once_proven(
        self,
        follower: MetadataFollower,
        registration: Registration,
        hosting: Hosting,
        chores: Sequence[Callable[[], Coroutine[None, None, None]]],
    ) -> None:
        """What makes, renames or deletes anything in the data directory has to wait for metadata that cannot be old."""
        await follower.until_proven(registration)
        hosting.start(follower.image)
        registration.on_settled()
        async with asyncio.TaskGroup() as tasks:
            for chore in chores:
                tasks.create_task(chore())

    async def _leave(
        self,
        children: Sequence[asyncio.Task[None]],
        registration: Registration,
        upkeep: Upkeep,
        broker: Broker,
        server: Server[Broker],
    ) -> None:
        """Asked to stop (and not: a part of us failed): hand leadership over while we still serve, then let clients go.

        They ask others who leads now. Those know by then, and still name this broker: of one that is named no more while it is
        asked, librdkafka may lose the partitions, until it looks again a second later. What others go on with is flushed last, when
        nobody waits for this disk any more.
        """
        if self._world.killed or any(child.done() or child.cancelling() for child in children):
            return
        await upkeep.flush_all(alone=True)
        broker.is_leaving = True
        timeout_ms = self.config.controlled_shutdown_timeout_ms
        while await registration.make_way(timeout_ms=timeout_ms) and _leads_what_others_could(broker):
            continue  # a controller decides of so many partitions at a time
        broker.delays.close()
        await server.close()
        await registration.leave(timeout_ms=timeout_ms)
        await upkeep.flush_all()

    def _applied_metadata(self, directories: LogDirs) -> AppliedMetadata:
        try:
            return AppliedMetadata(directories)
        except (CorruptFile, OSError) as error:
            raise ServiceFailed(f"cannot tell what metadata was applied: {error}") from error

    def _bind_cluster(self, directories: LogDirs, image: Image) -> None:
        if image.cluster_id is None:
            raise ServiceFailed("the metadata log does not say which cluster it is of")
        try:
            directories.set_cluster_id(image.cluster_id)
        except UnusableDirectory as error:
            raise ServiceFailed(str(error)) from error

    def _register(self, link: ControllerLink, directories: LogDirs, hosting: Hosting, room: SpareRoom) -> Registration:
        config = self.config
        assert directories.cluster_id is not None, "bound before"
        identity = NodeIdentity(
            node_id=config.node_id,
            cluster_id=directories.cluster_id,
            incarnation_id=directories.incarnation_id,
            listeners=advertise(self._world, self.listeners, config.advertised_listeners, config.security),
            rack=config.rack,
            log_dirs=directories.ids,
        )
        self.registration = Registration(
            self._world,
            link,
            identity,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            session_timeout_ms=config.session_timeout_ms,
            metadata_offset=lambda: hosting.settled_offset,
            previous_epoch=directories.clean_broker_epoch,
            offline_log_dirs=lambda: directories.offline_ids,
            replaceable_log_dirs=room.replaceable,
            on_session_lost=hosting.on_session_lost,
        )
        return self.registration


async def _keep_shares(broker: Broker) -> None:
    await broker.share_groups_begun.wait()
    await broker.share_groups.run()


def _on_image(image: Image, broker: Broker, server: Server[Broker]) -> None:
    broker.on_image(image)
    server.limit(broker.config.limits)
    server.on_quotas(image.client_quotas)


def _leads_what_others_could(broker: Broker) -> bool:
    return any(each.partition.leads and len(each.partition.isr) > 1 for each in broker.partitions)


def _features(image: Image) -> Features:
    return Features(SUPPORTED_FEATURES, finalized_features(image), image.offset)


def _identity(image: Image, node_id: int) -> Identity:
    return Identity(image.cluster_id, frozenset({node_id}))

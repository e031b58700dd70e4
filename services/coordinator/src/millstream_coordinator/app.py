"""The coordinator as a service: follows the metadata, registers, takes up its shards, serves, and leaves in order.

Order is all that is decided here. Nothing is kept on disk: a coordinator's state is in `__consumer_offsets`.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from millstream_cluster.features import SUPPORTED_FEATURES, finalized_features
from millstream_cluster.image import Image
from millstream_cluster.records import ConfigChanged, MetadataRecord, ResourceType
from millstream_coordinator.api import HANDLERS, UNADVERTISED
from millstream_coordinator.beside_a_broker import CLAIMS
from millstream_coordinator.config import CoordinatorConfig
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.groups.groups import Groups, group_shards
from millstream_coordinator.shell.housekeeping import Housekeeping
from millstream_coordinator.shell.metrics import CoordinatorMetrics
from millstream_coordinator.shell.shards.owned import Surroundings
from millstream_coordinator.shell.shards.partition import Connections
from millstream_coordinator.shell.shards.shards import Shards
from millstream_coordinator.shell.share_states.nodes import ShareStateNodes
from millstream_coordinator.shell.share_states.share_states import share_state_shards
from millstream_coordinator.shell.topic_creation import TopicCreation
from millstream_coordinator.shell.transactions.markers import Markers
from millstream_coordinator.shell.transactions.nodes import TransactionNodes
from millstream_coordinator.shell.transactions.transactions import transaction_shards
from millstream_runtime.nodes.audit_topic import AuditTopic
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.follower import MetadataFollower
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.registration import NodeIdentity, Registration, health_of
from millstream_runtime.nodes.session import Session
from millstream_runtime.replicated import Machine
from millstream_runtime.service import Health, ServiceFailed
from millstream_runtime.serving.accounts import Accounts
from millstream_runtime.serving.api_versions import Identity
from millstream_runtime.serving.authorization import authorizer_of
from millstream_runtime.serving.door import Door
from millstream_runtime.serving.listeners import advertise, listen_on
from millstream_runtime.serving.server import Features, Server
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

READS_MAX = 8
LEAVE_TIMEOUT_MS = 5_000


class CoordinatorApp:
    """A `Service`."""

    def __init__(self, config: CoordinatorConfig, world: World, door: Door | None = None) -> None:
        """`door`: where a broker of this process takes its clients; without one this service listens by itself."""
        self.config = config
        self._door = door
        self.name = f"coordinator-{config.node_id}"
        self.ready = asyncio.Event()
        self.listeners: dict[str, tuple[str, int]] = {}
        self._world = world
        self.follower: MetadataFollower | None = None
        """While it runs: to be looked at, not touched."""
        self.registration: Registration | None = None
        """Once it registers: to be looked at, not touched."""
        self._session = Session(world.monotonic_ms, config.session_timeout_ms)
        self._kinds: tuple[Shards[Any], ...] = ()
        self._server: Server[Coordinator] | None = None
        self._interest = Interest()
        self._audits = config.audit_topic is not None and door is None
        """Whether this is the role of its process that writes the audit records: with a broker beside, that does."""
        if self._audits:
            world.audit_records.is_read = True

    def machines(self) -> dict[str, Machine]:
        """The state of each shard that is served here, by the name of its partition: to be looked at, not touched."""
        owned = [shard for kind in self._kinds for shard in kind.owned()]
        return {shard.partition.name: shard.machine for shard in owned if shard.machine is not None}

    def health(self) -> Health:
        return health_of(self.registration, self.ready)

    async def run(self) -> None:
        config, world = self.config, self._world
        link = self._controllers()
        connections = self._connections()
        follower = self.follower = MetadataFollower(world, link, node_id=config.node_id, on_records=self._on_records)
        clock = SteadyClock(world)
        around = self._surroundings(link, clock)
        nodes = Nodes(world, client_id=self.name, node_id=config.node_id, credentials=config.security.nodes)
        topic_creation = TopicCreation(config, link)
        share_state_nodes = ShareStateNodes(
            nodes,
            lambda: follower.image,
            self._interest,
            topic_creation.want,
            timeout_ms=config.offsets_commit_timeout_ms,
        )
        self._shards = Shards(
            group_shards(config.groups, clock, lambda: follower.image, share_state_nodes),
            around,
            connections,
            lambda: follower.image,
        )
        self._share_state_shards = Shards(share_state_shards(), around, connections, lambda: follower.image)
        transaction_nodes = TransactionNodes(nodes, lambda: follower.image, self._interest)
        self._transaction_shards = Shards(
            transaction_shards(config.transactions, clock, Markers(transaction_nodes, world.random)),
            around,
            connections,
            lambda: follower.image,
        )
        self._kinds = (self._shards, self._transaction_shards, self._share_state_shards)
        self._housekeeping = Housekeeping(config, self._shards, self._share_state_shards, lambda: follower.image)
        coordinator = Coordinator(
            config,
            world,
            controllers=link,
            connections=connections,
            shards=self._shards,
            transaction_shards=self._transaction_shards,
            share_state_shards=self._share_state_shards,
            share_state_nodes=share_state_nodes,
            transaction_nodes=transaction_nodes,
            topic_creation=topic_creation,
            session=self._session,
            image=lambda: follower.image,
        )
        server = self._server = Server(
            self.name,
            HANDLERS,
            coordinator,
            world,
            config.limits,
            unadvertised=UNADVERTISED,
            features=lambda: _features(follower.image),
            identity=lambda: _identity(follower.image, config.node_id),
            accounts=Accounts(world, lambda: follower.image, follower.caught_up.wait, config.token_secret),
            authorizer=authorizer_of(config.authorizer, lambda: follower.image.acls),
        )
        metrics = CoordinatorMetrics(config.node_id, self._shards)
        world.metrics.register(metrics)
        try:
            await self._serve(server, coordinator, link, follower)
        finally:
            world.metrics.unregister(metrics)
            if self._door is not None:
                self._door.leave()
            await server.close()
            await connections.close()
            await nodes.close()
            await link.close()

    def _audit_topic(self, follower: MetadataFollower) -> AuditTopic:
        assert self.config.audit_topic is not None
        nodes = Nodes(
            self._world, client_id=self.name, node_id=self.config.node_id, credentials=self.config.security.nodes
        )
        return AuditTopic(self.config.audit_topic, nodes, self._world, lambda: follower.image)

    def _controllers(self) -> ControllerLink:
        config = self.config
        return ControllerLink(
            self._world,
            config.controllers,
            client_id=self.name,
            node_id=config.node_id,
            credentials=config.security.controllers,
        )

    def _connections(self) -> Connections:
        config = self.config

        def nodes() -> Nodes:
            # Client ids are what nodes of release 0.1.0 know this one by: `__` to those that it writes to.
            name = f"__{self.name}"
            return Nodes(self._world, client_id=name, node_id=config.node_id, credentials=config.security.nodes)

        return Connections(nodes(), nodes(), asyncio.Semaphore(READS_MAX), self._interest)

    async def _serve(
        self, server: Server[Coordinator], coordinator: Coordinator, link: ControllerLink, follower: MetadataFollower
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            children = [tasks.create_task(follower.run())]
            await follower.caught_up.wait()
            # Not before: an empty picture of the cluster is worse than none.
            self.listeners |= await self._open(server)
            registration = self._register(link, follower)
            children.append(tasks.create_task(registration.run()))
            children += (tasks.create_task(kind.run()) for kind in self._kinds)
            children.append(tasks.create_task(self._housekeeping.run()))
            children.append(tasks.create_task(coordinator.topic_creation.run()))
            if self._audits:
                children.append(tasks.create_task(self._audit_topic(follower).run()))
            try:
                await registration.unfenced.wait()
                self.ready.set()
                logger.info("coordinator ready coordinator=%d listeners=%s", self.config.node_id, self.listeners)
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                # Asked to stop (and not: a part of us failed): let the shards go elsewhere first.
                if not self._world.killed and not any(child.done() or child.cancelling() for child in children):
                    await registration.leave(timeout_ms=LEAVE_TIMEOUT_MS)
                raise

    async def _open(self, server: Server[Coordinator]) -> Mapping[str, tuple[str, int]]:
        if self._door is not None:
            return await self._door.join(server, CLAIMS)
        config = self.config
        return await listen_on(server, config.listeners, nodes_listener=config.nodes_listener, security=config.security)

    def _on_session_lost(self) -> None:
        """Others may have owned our shards since, and may own them now."""
        for kind in self._kinds:
            kind.claim_again()

    def _on_records(self, image: Image, records: Sequence[MetadataRecord]) -> None:
        if self.registration is not None:
            self.registration.on_image(image)
            self.registration.on_settled()
        for kind in self._kinds:
            kind.on_change()
        self._interest.on_change()
        if self._server is not None:
            self._server.on_quotas(image.client_quotas)
        self._housekeeping.on_records(records)
        for record in records:
            if isinstance(record, ConfigChanged) and record.resource_type is ResourceType.GROUP:
                groups = self._shards.of(record.resource_name)
                if isinstance(groups, Groups):
                    groups.reconsider(record.resource_name)

    def _surroundings(self, link: ControllerLink, clock: SteadyClock) -> Surroundings:
        return Surroundings(
            node_id=self.config.node_id,
            world=self._world,
            controllers=link,
            session=self._session,
            clock=clock,
            load_buffer_bytes=self.config.offsets_load_buffer_bytes,
        )

    def _register(self, link: ControllerLink, follower: MetadataFollower) -> Registration:
        config = self.config
        cluster_id = follower.image.cluster_id
        if cluster_id is None:
            raise ServiceFailed("the metadata log does not say which cluster it is of")
        if config.cluster_id not in (None, cluster_id):
            raise ServiceFailed(f"the controllers are of cluster {cluster_id}, cluster.id says {config.cluster_id}")
        identity = NodeIdentity(
            node_id=config.node_id,
            cluster_id=cluster_id,
            incarnation_id=UUID(int=self._world.random.getrandbits(128), version=4),
            listeners=advertise(self._world, self.listeners, config.advertised_listeners, config.security),
            rack=config.rack,
        )
        self.registration = Registration(
            self._world,
            link,
            identity,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            session_timeout_ms=config.session_timeout_ms,
            metadata_offset=lambda: follower.image.offset,
            session=self._session,
            on_session_lost=self._on_session_lost,
        )
        return self.registration


def _features(image: Image) -> Features:
    return Features(SUPPORTED_FEATURES, finalized_features(image), image.offset)


def _identity(image: Image, node_id: int) -> Identity:
    return Identity(image.cluster_id, frozenset({node_id}))

"""The controller as a service: listens, loads the log, and is either the active controller or a standby, in turns.

Who is active is decided by the store's compare-and-swap alone. What a request means is in api/, what follows from it in core/.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from millstream_cluster.errors import ClusterError
from millstream_cluster.ids import uuid_text
from millstream_cluster.image import Image
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.records import MetadataRecord
from millstream_controller.api import HANDLERS, UNADVERTISED
from millstream_controller.config import ControllerConfig
from millstream_controller.core.takeover import NewCluster, WrongCluster
from millstream_controller.shell.active import Active, LogWentBack, NotActive
from millstream_controller.shell.authorizer import ControllerAuthorizer
from millstream_controller.shell.controller import Controller
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_controller.shell.metrics import ControllerMetrics
from millstream_controller.shell.open_store import OpenStore, open_store
from millstream_controller.shell.standby import Standby, ignore
from millstream_controller.shell.store import Fenced, Store, StoreBroken, StoreUnavailable
from millstream_runtime.nodes.audit_topic import AuditTopic
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.service import Health, ServiceFailed
from millstream_runtime.serving.accounts import Accounts
from millstream_runtime.serving.listeners import LOOPBACKS, be_at_home, listen_on
from millstream_runtime.serving.server import Server
from millstream_runtime.world import World
from millstream_wire.records import RecordsError

logger = logging.getLogger(__name__)

NO_ACLS = AclsImage()

STORE_RETRY_S = 1.0
PATIENCE_DOUBLINGS_MAX = 4


class ControllerApp:
    """A `Service`."""

    def __init__(
        self,
        config: ControllerConfig,
        world: World,
        *,
        open_store: OpenStore = open_store,
        first_logins: Sequence[MetadataRecord] = (),
    ) -> None:
        """`first_logins`: credentials that a new cluster begins with; one that is there has its own."""
        self.config = config
        self.world = world
        self._open_store = open_store
        self.name = f"controller-{config.node_id}"
        self.ready = asyncio.Event()
        self.listeners: dict[str, tuple[str, int]] = {}
        self._controller = Controller(world, config.limits, config.quota_windows)
        self._first_logins = first_logins
        self._log: MetadataLog | None = None
        """What was loaded last, and what was committed since."""
        self._loaded = asyncio.Event()
        self._state = "starting"
        self._writer = f"{world.random.getrandbits(64):016x}"
        if config.audit_topic is not None:
            world.audit_records.is_read = True

    def health(self) -> Health:
        active = self._controller.find_active()
        aside = active is not None and not active.verified
        detail = "the metadata store does not answer" if aside else self._state
        return Health(healthy=True, ready=self.ready.is_set(), detail=detail)

    async def run(self) -> None:
        server = Server(
            self.name,
            HANDLERS,
            self._controller,
            self.world,
            self.config.limits,
            unadvertised=UNADVERTISED,
            accounts=self._accounts(),
            authorizer=self._authorizer(),
        )
        controller = self._controller
        server.counters.throttled = (controller.forwarded_time.quota.throttled, controller.mutations.quota.throttled)
        metrics = ControllerMetrics(self._controller.find_active)
        self.world.metrics.register(metrics)
        store: Store | None = None
        try:
            self.listeners |= await listen_on(server, [self.config.listener], security=self.config.security)
            self._be_at_home()
            store = await self._open_store(self.config.store, self.world, self._writer)
            async with self._auditing():
                await self._govern(store)
        except (StoreBroken, WrongCluster, LogWentBack) as error:
            raise ServiceFailed(str(error)) from error
        except (ClusterError, RecordsError) as error:
            raise ServiceFailed(f"the metadata log cannot be read: {error}") from error
        finally:
            self.world.metrics.unregister(metrics)
            await server.close()
            if store is not None:
                await store.close()

    @property
    def active(self) -> Active | None:
        """While it is the active controller."""
        return self._controller.find_active()

    def advertised(self) -> tuple[str, int]:
        """Where other nodes reach this controller."""
        host, port = self.listeners[self.config.listener.name]
        if self.config.advertised is not None:
            return self.config.advertised.host, self.config.advertised.port or port
        return host, port

    @asynccontextmanager
    async def _auditing(self) -> AsyncIterator[None]:
        """Meanwhile audit records are written, where they are wanted."""
        config = self.config
        if config.audit_topic is None:
            yield
            return
        nodes = Nodes(self.world, client_id=self.name, node_id=config.node_id, credentials=config.security.nodes)
        audit_topic = AuditTopic(config.audit_topic, nodes, self.world, self._image)
        writing = asyncio.get_running_loop().create_task(audit_topic.run())
        try:
            yield
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    def _be_at_home(self) -> None:
        host, port = self.listeners[self.config.listener.name]
        be_at_home(self.world, self.advertised(), (LOOPBACKS.get(host, host), port))

    def _accounts(self) -> Accounts:
        """Of the log, which a controller has before anybody could send it anything: the first node logs in here."""
        return Accounts(
            self.world,
            self._image,
            self._loaded.wait,
            self.config.settings.tokens.secret_key,
        )

    def _image(self) -> Image | None:
        """What is committed, as far as this controller knows."""
        return None if self._log is None else self._log.image

    def _authorizer(self) -> ControllerAuthorizer | None:
        config = self.config.authorizer
        return None if config is None else ControllerAuthorizer(config, self._controller, self._acls)

    def _acls(self) -> AclsImage:
        image = self._image()
        return NO_ACLS if image is None else image.acls

    async def _govern(self, store: Store) -> None:
        """Load, lead or follow, and again; until cancelled or the store cannot be trusted."""
        gone_epoch = 0
        out_of_reach = 0
        while True:
            log = self._log = await self._load(store)
            self._loaded.set()
            self._check_cluster(log)
            elected = log.image.controller
            itself = elected is not None and elected.controller_id == self.config.node_id
            if elected is None or itself or log.image.controller_resigned or elected.epoch == gone_epoch:
                await self._lead(store, log)
                continue
            self._state = f"standby of controller {elected.controller_id}"
            self._controller.follow(elected)
            self.ready.set()
            logger.info("controller standby id=%d active=%d", self.config.node_id, elected.controller_id)
            standby = Standby(
                self.world,
                self.config.node_id,
                elected,
                log.end_offset,
                takeover_timeout_ms=self.config.takeover_timeout_ms << min(out_of_reach, PATIENCE_DOUBLINGS_MAX),
                credentials=self.config.security.controllers,
                on_batch=log.follow if self.config.security.asks_for_credentials else ignore,
                has_gone=lambda epoch=elected.epoch: self._has_gone(store, epoch),  # type: ignore[misc]
            )
            if await standby.watch():
                gone_epoch = elected.epoch
            self._controller.follow(None)
            # Two that reach the store but not each other would take over from one another for ever: ever more slowly.
            out_of_reach = 0 if standby.had_contact else out_of_reach + 1

    async def _has_gone(self, store: Store, epoch: int) -> bool:
        """Whether the controller of this epoch has resigned or been deposed."""
        image = (await self._load(store)).image
        return image.controller_resigned or image.controller is None or image.controller.epoch != epoch

    async def _load(self, store: Store) -> MetadataLog:
        waiting = False
        while True:
            try:
                return MetadataLog(await store.load())
            except StoreUnavailable as error:
                if not waiting:
                    logger.warning("metadata store away error=%s", error)
                waiting, self._state = True, "the metadata store is away"
                await asyncio.sleep(STORE_RETRY_S)

    def _check_cluster(self, log: MetadataLog) -> None:
        wanted, found = self.config.cluster_id, log.image.cluster_id
        if wanted is not None and found is not None and wanted != found:
            raise WrongCluster(f"the metadata log is of cluster {found}, cluster.id says {wanted}")

    async def _lead(self, store: Store, log: MetadataLog) -> None:
        """Take over and be the active controller until somebody else is, or the store goes away."""
        host, port = self.advertised()
        active = Active(self.config.settings, self.world, store, log, self._writer)
        try:
            await active.take_over(
                self.config.node_id,
                host=host,
                port=port,
                cluster_id=self.config.cluster_id,
                new_cluster=NewCluster(uuid_text(self._controller.new_id()), self._first_logins),
            )
            self._controller.set_active(active)
            self._state = f"active in epoch {active.epoch}"
            self.ready.set()
            await active.run()
        except asyncio.CancelledError:
            if self._controller.find_active() is active and not self.world.killed:
                await active.resign()
            raise
        except Fenced as error:
            logger.info("controller deposed id=%d epoch=%d reason=%s", self.config.node_id, active.epoch, error)
            await self._refuse_namesake(store, active.epoch)
        except StoreUnavailable as error:
            logger.warning("controller steps down id=%d epoch=%d reason=%s", self.config.node_id, active.epoch, error)
            await asyncio.sleep(STORE_RETRY_S)
        finally:
            self._controller.set_active(None)
            self._state = "loading"
            await active.stop(NotActive("the controller stops"))

    async def _refuse_namesake(self, store: Store, epoch: int) -> None:
        """Two processes of one id would depose each other for ever.

        In an earlier epoch it was this one's own life before, whose last request reached the store late.
        """
        elected = (await self._load(store)).image.controller
        if elected is not None and elected.controller_id == self.config.node_id and elected.epoch >= epoch:
            raise ServiceFailed(
                f"another process is controller {self.config.node_id} too, at {elected.host}:{elected.port}: "
                "node.id must be unique"
            )

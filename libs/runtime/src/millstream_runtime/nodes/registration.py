"""A broker's or coordinator's membership: registers with the active controller and heartbeats for as long as it runs.

What a heartbeat's answer means for the node (fenced, free to stop) is reported, not acted upon.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from enum import Enum, auto
from uuid import UUID

from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.image import Image
from millstream_runtime.nodes.controllers import ControllerLink, ControllerUnavailable
from millstream_runtime.nodes.session import Session
from millstream_runtime.service import Health, ServiceFailed
from millstream_runtime.world import World
from millstream_security.protocol import SecurityProtocol
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from millstream_wire.messages.broker_registration import Feature, Listener

logger = logging.getLogger(__name__)

FENCED_HEARTBEAT_MS = 100
"""While the controller still holds us fenced, or we wait for leave to stop, each heartbeat may be the one that changes it.

What this node has to do itself before it is let in is not found out by this interval: `on_settled` sends the heartbeat."""
NO_ANSWER_MS = 2_000
"""How long a node that leaves waits for a controller that says anything at all."""
REGISTRATION_RETRY_MS = 500
DUPLICATE_PATIENCE_MS = 60_000
"""A node that died without a word holds its id until its session ends; longer than this it is another node."""

_STALE = frozenset({ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED})
_FINAL = frozenset(
    {
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.INVALID_REGISTRATION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


_ADVICE = {
    ErrorCode.INVALID_REGISTRATION: (
        " (a broker with several log.dirs needs a cluster whose metadata.version says where replicas are: start it with one, "
        "or raise the level with kafka-features first)"
    ),
    ErrorCode.UNSUPPORTED_VERSION: (
        " (the cluster's feature levels, metadata.version before all, are not those of this release: start this node "
        "with the release that the cluster runs; docs/operations.md, 'Upgrades')"
    ),
}


@dataclass(frozen=True, slots=True)
class AdvertisedListener:
    name: str
    host: str
    port: int
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    node_id: int
    cluster_id: str
    incarnation_id: UUID
    listeners: tuple[AdvertisedListener, ...]
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()


class _Stop(Enum):
    """Whether heartbeats ask for leave to stop."""

    NOT = auto()
    ONCE = auto()
    """The next one: who leads anything makes way for others, and serves on."""
    UNTIL_IT_MAY = auto()


class RegistrationRefused(ServiceFailed):
    """The controller will never take this registration (another cluster id, the id is in use): one clear line."""


def health_of(registration: "Registration | None", ready: asyncio.Event) -> Health:
    """What a node that registers says of itself."""
    if registration is None or not registration.registered.is_set():
        return Health(healthy=True, ready=False, detail="not registered")
    if registration.fenced:
        return Health(healthy=True, ready=False, detail="fenced")
    return Health(healthy=True, ready=ready.is_set())


def nothing() -> None:
    """For a node that loses nothing with its session."""


class Registration:
    """`await registered.wait()` for the first success; `broker_epoch` is the epoch of the newest one, -1 before.

    A session begins when the controller lets the node in (`unfenced`) and is lost when the node learns that it was fenced
    or that its registration is over: from a heartbeat's answer, or from the metadata, whichever comes first. The metadata
    never leaves one out, since a node is let in again only when it has applied the record that fenced it. That no controller
    answers loses no session: who could have fenced us may be away itself.
    """

    def __init__(
        self,
        world: World,
        link: ControllerLink,
        identity: NodeIdentity,
        *,
        heartbeat_interval_ms: int,
        session_timeout_ms: int,
        metadata_offset: Callable[[], int],
        previous_epoch: int = -1,
        session: Session | None = None,
        on_session_lost: Callable[[], None] = nothing,
        offline_log_dirs: Callable[[], Collection[UUID]] = tuple,
        replaceable_log_dirs: Callable[[], Collection[UUID]] = tuple,
    ) -> None:
        """`previous_epoch`: the epoch of the last life of this disk, if it ended cleanly. `session` is kept up to date.

        `on_session_lost` is called once for each session that is lost, before anything else is done about it.
        `offline_log_dirs` are those of the identity's directories that have failed since, and maybe others;
        `replaceable_log_dirs` those that failed, at any time, and whose partitions the others have room for.
        """
        self.registered = asyncio.Event()
        self.unfenced = asyncio.Event()
        self.broker_epoch = -1
        self._world = world
        self._link = link.another()
        self._identity = identity
        self._interval_ms = heartbeat_interval_ms
        self._session_timeout_ms = session_timeout_ms
        self._metadata_offset = metadata_offset
        self._previous_epoch = previous_epoch
        self._session = session if session is not None else Session(world.monotonic_ms, session_timeout_ms)
        self._on_session_lost = on_session_lost
        self._offline_log_dirs = offline_log_dirs
        self._replaceable_log_dirs = replaceable_log_dirs
        self._let_in_offset = -1
        """How far the metadata was applied here when the heartbeat went out that was answered with leave to serve."""
        self._fenced_offset = -1
        """The last fencing that the metadata told of: an answer to a heartbeat from before it is no news."""
        self._told_offset = -1
        """How far the newest heartbeat said that the metadata is applied here."""
        self._stop = _Stop.NOT
        self._stop_unheard_ms: int | None = None
        """Since when no controller has answered that we want to stop."""
        self._stop_answered = asyncio.Event()
        """A controller has answered to a heartbeat that asked for leave to stop."""
        self._may_stop = asyncio.Event()
        self._hurry = asyncio.Event()

    @property
    def fenced(self) -> bool:
        return not self.unfenced.is_set()

    def on_image(self, image: Image) -> None:
        """The metadata moved: it may say that we are fenced before a heartbeat does."""
        node = image.node(self._identity.node_id)
        if image.offset < self.broker_epoch:
            return
        if node is not None and node.epoch == self.broker_epoch:
            if not node.fenced or node.fenced_offset <= self._let_in_offset:
                return
            self._fenced_offset = node.fenced_offset
        self._lose_session("metadata")

    def on_settled(self) -> None:
        """`metadata_offset` may have grown: once it covers what the controller waits for, the heartbeat that says so goes at once."""
        awaited = max(self.broker_epoch, self._fenced_offset)
        if self.fenced and self._told_offset < awaited <= self._metadata_offset():
            self._hurry.set()

    def on_log_dirs(self) -> None:
        """One more has failed: the heartbeat that says so goes at once."""
        self._hurry.set()

    async def run(self) -> None:
        """Register, heartbeat, register again when our epoch is stale; until cancelled. Raises RegistrationRefused."""
        try:
            while True:
                await self._register()
                await self._heartbeat_until_stale()
        finally:
            await self._link.close()

    async def make_way(self, *, timeout_ms: int) -> bool:
        """Begin a controlled shutdown: ask for leave once, so that others take over; whether there is more to ask for.

        Not if the node may stop now, nor if no controller answers.
        """
        self._stop_answered.clear()
        self._ask(_Stop.ONCE)
        return await self._is_answered(timeout_ms) and not self._may_stop.is_set()

    async def leave(self, *, timeout_ms: int) -> None:
        """End it: ask by heartbeat until the controller lets go or the time is over (while `run` runs).

        Where no controller answers at all it goes soon, as if it had died: they find out by its silence.
        """
        self._ask(_Stop.UNTIL_IT_MAY)
        node_id = self._identity.node_id
        if not await self._is_answered(timeout_ms):
            logger.warning("controlled shutdown gave up node=%d reason=no_controller_answers", node_id)
        elif not await _comes(self._may_stop, timeout_ms):
            logger.warning("controlled shutdown gave up node=%d reason=not_let_go timeout_ms=%d", node_id, timeout_ms)

    def _ask(self, stop: _Stop) -> None:
        self._stop = stop
        if self._stop_unheard_ms is None:
            self._stop_unheard_ms = self._world.monotonic_ms()
        self._hurry.set()

    async def _is_answered(self, timeout_ms: int) -> bool:
        """Whether a controller answers; where none does, it is waited for once, however often it is asked."""
        assert self._stop_unheard_ms is not None, "asked before"
        waited_ms = self._world.monotonic_ms() - self._stop_unheard_ms
        return await _comes(self._stop_answered, max(0, min(timeout_ms, NO_ANSWER_MS) - waited_ms))

    async def _register(self) -> None:
        request = self._request()
        began_ms = self._world.monotonic_ms()
        told = False
        while True:
            try:
                answer = await self._link.request(request, timeout_ms=self._session_timeout_ms)
            except ControllerUnavailable as failure:
                logger.warning("registration waits node=%d reason=%s", self._identity.node_id, failure)
                continue
            error = ErrorCode(answer.error_code)
            if error is ErrorCode.NONE:
                self._accept(answer.broker_epoch)
                return
            waited_ms = self._world.monotonic_ms() - began_ms
            taken = error is ErrorCode.DUPLICATE_BROKER_REGISTRATION and waited_ms > DUPLICATE_PATIENCE_MS
            if error in _FINAL or taken:
                raise RegistrationRefused(
                    f"node {self._identity.node_id}: the controller refuses it: {error.name}{_ADVICE.get(error, '')}"
                )
            if not told:
                told = True
                logger.info("registration waits node=%d error=%s", self._identity.node_id, error.name)
            await asyncio.sleep(REGISTRATION_RETRY_MS / 1000)

    def _request(self) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            broker_id=self._identity.node_id,
            cluster_id=self._identity.cluster_id,
            incarnation_id=self._identity.incarnation_id,
            listeners=[
                Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.protocol)
                for each in self._identity.listeners
            ],
            features=[
                Feature(name=each.name, min_supported_version=each.least, max_supported_version=each.most)
                for each in SUPPORTED_RANGES
            ],
            rack=self._identity.rack,
            log_dirs=[each for each in self._identity.log_dirs if each not in self._offline_log_dirs()],
            previous_broker_epoch=self._previous_epoch,
        )

    def _accept(self, broker_epoch: int) -> None:
        self.broker_epoch = self._previous_epoch = broker_epoch
        self.registered.set()
        logger.info("registered node=%d epoch=%d", self._identity.node_id, broker_epoch)

    async def _heartbeat_until_stale(self) -> None:
        unreachable = False
        if self._metadata_offset() < self.broker_epoch:
            await self._pause()  # the controller would only answer that it is too early
        while True:
            try:
                error = await self._heartbeat()
            except ControllerUnavailable as failure:
                if not unreachable:
                    logger.warning("heartbeat failed node=%d reason=%s", self._identity.node_id, failure)
                unreachable = True
                continue
            unreachable = False
            if error in _STALE:
                logger.warning("registration lost node=%d error=%s", self._identity.node_id, error.name)
                self._lose_session(error.name)
                return
            await self._pause()

    async def _heartbeat(self) -> ErrorCode:
        request = BrokerHeartbeatRequest(
            broker_id=self._identity.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata_offset(),
            want_shut_down=self._asks_to_stop,
            offline_log_dirs=[each for each in self._identity.log_dirs if each in self._offline_log_dirs()],
            replaceable_log_dirs=list(self._replaceable_log_dirs()),
        )
        self._told_offset = request.current_metadata_offset
        patience_ms = max(1_000, self._session_timeout_ms // 3)
        sent_ms = self._world.monotonic_ms()
        answer = await self._link.request(request, timeout_ms=self._session_timeout_ms, attempt_timeout_ms=patience_ms)
        error = ErrorCode(answer.error_code)
        if request.want_shut_down:
            self._stop_answered.set()
            self._stop_unheard_ms = self._world.monotonic_ms()
        if error is ErrorCode.NONE:
            if answer.is_fenced:
                self._lose_session("heartbeat")
            elif request.current_metadata_offset >= self._fenced_offset:
                self._let_in_offset = request.current_metadata_offset
                self._session.renewed(sent_ms)
                self.unfenced.set()
            if answer.should_shut_down:
                self._may_stop.set()
        return error

    @property
    def _asks_to_stop(self) -> bool:
        is_answered = self._stop_answered.is_set()
        return self._stop is _Stop.UNTIL_IT_MAY or (self._stop is _Stop.ONCE and not is_answered)

    def _lose_session(self, told_by: str) -> None:
        if self.fenced:
            return
        self.unfenced.clear()
        if self._stop is _Stop.NOT:
            logger.warning(
                "session lost node=%d epoch=%d told_by=%s", self._identity.node_id, self.broker_epoch, told_by
            )
        self._session.ended()
        self._on_session_lost()

    async def _pause(self) -> None:
        hurried = self.fenced or self._stop is not _Stop.NOT
        interval_ms = min(FENCED_HEARTBEAT_MS, self._interval_ms) if hurried else self._interval_ms
        if await _comes(self._hurry, interval_ms):
            self._hurry.clear()


async def _comes(event: asyncio.Event, timeout_ms: int) -> bool:
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await event.wait()
    except TimeoutError:
        return False
    return True

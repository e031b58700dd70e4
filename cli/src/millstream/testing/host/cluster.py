"""One cluster in a thread of its own: an event loop whose clock moves, all its nodes on it, and a client for the test's questions.

What the nodes are told differs from a node's defaults where a test would have to wait for something that it does not ask about.
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from millstream.first_logins import first_logins_of
from millstream.ports import free_ports
from millstream.roles import PORTS, Place
from millstream.testing.host.certificates import Certificates
from millstream.testing.host.moving_loop import MovingLoop
from millstream.testing.host.node import HostedNode, NodeFailed, data_of
from millstream.testing.host.owner import Owner
from millstream.testing.host.questions import Questions
from millstream.testing.host.world import HostedWorld
from millstream.testing.wanted import Wanted
from millstream_runtime.properties import PropertyError
from millstream_runtime.service import ServiceFailed

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
SESSION_MS = 86_400_000
"""A node of which nothing is heard is missed once its cluster's clock has moved by a day; one that was killed, at once."""
TAKEOVER_MS = SESSION_MS // 4
"""And a controller after a quarter of it. The sessions of those whom it knew begin anew with the next one: so two days are always enough."""
HEARTBEATS = 8
"""In a session."""
NO_LIMIT_MS = 2_147_483_647
CALL_TIMEOUT_S = 120.0
START_ATTEMPTS = 5


def settings_of(wanted: Wanted) -> dict[str, str]:
    """Of all nodes."""
    shards = str(wanted.brokers)
    replicas = str(min(3, wanted.brokers))
    return {
        "broker.session.timeout.ms": str(SESSION_MS),
        "broker.heartbeat.interval.ms": str(SESSION_MS // HEARTBEATS),
        "controller.takeover.timeout.ms": str(TAKEOVER_MS),
        "controller.verify.timeout.ms": str(SESSION_MS),
        "replica.lag.time.max.ms": str(SESSION_MS),
        "connections.max.idle.ms": str(NO_LIMIT_MS),
        "offsets.topic.num.partitions": shards,
        "transaction.state.log.num.partitions": shards,
        "share.coordinator.state.topic.num.partitions": shards,
        "default.replication.factor": replicas,
        "min.insync.replicas": str(max(1, int(replicas) - 1)),
        "group.initial.rebalance.delay.ms": "0",
        **wanted.settings,
    }


class HostedCluster:
    """`start` once; every other method may be called from any thread, one at a time."""

    def __init__(self, wanted: Wanted, directory: Path) -> None:
        self._wanted = wanted
        self._directory = directory
        self._settings = settings_of(wanted)
        self._loop: MovingLoop | None = None
        self._since_s = 0.0
        self._opened: Future[None] = Future()
        self._closing: asyncio.Event | None = None
        self._nodes: dict[int, HostedNode] = {}
        self._certificates: Certificates | None = None
        self.questions: Questions
        self._thread = threading.Thread(target=self._main, name="millstream-cluster", daemon=True)

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self._nodes.values())

    @property
    def authority(self) -> str | None:
        """The file with the certificate that clients have to trust."""
        return str(self._certificates.authority) if self._certificates is not None else None

    def start(self) -> None:
        """Return at once; `until_ready` says how it went."""
        self._thread.start()

    def until_ready(self) -> None:
        self._opened.result(CALL_TIMEOUT_S)

    def begin_time(self) -> None:
        """From now on its clock is right, until somebody moves it: it may have been kept in reserve for a while."""
        assert self._loop is not None
        self._since_s = self._loop.ahead_s

    def close(self) -> None:
        """Nobody will ask its disks anything: as if the power went."""
        if self._loop is not None and self._closing is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(CALL_TIMEOUT_S)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_TIMEOUT_S)

    # ---- on the loop ----

    async def advance(self, by_s: float) -> None:
        assert self._loop is not None
        session_ms = int(self._settings["broker.session.timeout.ms"])
        await self._loop.move(by_s, leap_max_s=session_ms / HEARTBEATS / 1000)
        self._fail_if_one_ended()

    async def act(self, number: int, action: str, *arguments: Any) -> None:
        """One of the things that a test does to a node, by the name of the method."""
        node = self._nodes.get(number)
        if node is None:
            raise NodeFailed(f"there is no node {number}, only 1 to {len(self._nodes)}")
        done = getattr(node, action)(*arguments)
        if done is not None:
            await done
        await self.questions.close()
        self.questions = self._ask_those_who_answer()

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=MovingLoop) as runner:
                runner.run(self._live())
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
                return
            raise

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovingLoop)
        self._loop = loop
        self._closing = asyncio.Event()
        try:
            await self._start_nodes()
            self.questions = self._ask_those_who_answer()
            self._opened.set_result(None)
            await self._closing.wait()
            await self.questions.close()
        finally:
            await self._kill_all()

    async def _kill_all(self) -> None:
        for node in self._nodes.values():
            if node.is_up:
                await node.kill()

    async def _start_nodes(self) -> None:
        """Ports that were free may be somebody else's by now: then others are."""
        wanted = self._wanted
        if wanted.tls:
            self._certificates = Certificates(self._directory)
        logins = first_logins_of(
            [f"SCRAM-SHA-256=[name={user},password={word}]" for user, word in wanted.users.items()]
        )
        for attempt in range(1, START_ATTEMPTS + 1):
            ports = free_ports(LOOPBACK, PORTS * wanted.brokers)
            places = [
                Place(LOOPBACK, (first, first + 1, first + 2, first + 3), data_of(self._directory, number))
                for number, first in enumerate(ports[::PORTS], 1)
            ]
            controllers = ",".join(f"{LOOPBACK}:{place.ports[1]}" for place in places)
            self._nodes = {
                number: HostedNode(
                    number,
                    {**self._settings, **self._own_settings(number, controllers, place)},
                    place,
                    since_s=lambda: self._since_s,
                    first_logins=logins,
                )
                for number, place in enumerate(places, 1)
            }
            try:
                for node in self._nodes.values():
                    node.begin()
                for node in self._nodes.values():
                    await node.until_ready()
                return
            except NodeFailed as error:
                await self._kill_all()
                if attempt == START_ATTEMPTS or "in use" not in str(error):
                    raise

    def _own_settings(self, number: int, controllers: str, place: Place) -> Mapping[str, str]:
        own = {
            "node.id": str(number),
            "controller.bootstrap.servers": controllers,
            "controller.store": f"file:{self._directory / 'controller-store'}",
        }
        return {**own, **self._security(place), **self._wanted.settings}

    def _security(self, place: Place) -> Mapping[str, str]:
        """Clients come in at a door that asks for credentials; nodes at one that only this machine reaches."""
        wanted = self._wanted
        if not wanted.tls and not wanted.users:
            return {}
        protocol = wanted.protocol
        own = {
            "listeners": f"CLIENTS://{LOOPBACK}:{place.ports[0]},NODES://{LOOPBACK}:{place.ports[2]}",
            "listener.security.protocol.map": f"CLIENTS:{protocol},NODES:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "NODES",
        }
        if wanted.users:
            own |= {
                "sasl.enabled.mechanisms": "SCRAM-SHA-256",
                "allow.everyone.if.no.acl.found": "true",
                "super.users": f"User:{next(iter(wanted.users))}",
            }
        if self._certificates is not None:
            own |= {"listener.name.clients.ssl.keystore.location": str(self._certificates.server)}
        return own

    def _ask_those_who_answer(self) -> Questions:
        """A node that is paused would keep every question waiting that comes to it first."""
        assert self._loop is not None
        world = HostedWorld(Owner(), self._loop, lambda: self._since_s)
        answering = [node.address for node in self._nodes.values() if node.answers]
        return Questions(world, ",".join(answering) or self.bootstrap, self._properties_of_questions())

    def _properties_of_questions(self) -> Mapping[str, str]:
        user = next(iter(self._wanted.users.items()), None)
        return client_properties(self._wanted, self.authority, user)

    def _fail_if_one_ended(self) -> None:
        for node in self._nodes.values():
            if node.failure is not None:
                raise NodeFailed(f"node {node.number} ended: {node.failure}")


def client_properties(wanted: Wanted, authority: str | None, user: tuple[str, str] | None) -> dict[str, str]:
    """Kafka's own names, as our client and Java's take them."""
    properties = {"security.protocol": wanted.protocol}
    if authority is not None:
        properties |= {"ssl.truststore.location": authority, "ssl.truststore.type": "PEM"}
    if user is not None:
        name, password = user
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        properties |= {
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f'{module} required username="{name}" password="{password}";',
        }
    return properties


START_ERRORS = (NodeFailed, ServiceFailed, PropertyError, OSError)
"""What a test is told as it is, without a traceback of ours."""

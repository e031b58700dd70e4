"""A network that a seed decides: every link has delays, connections break, hosts are cut off from each other.

What TCP promises holds: frames of one connection arrive in order, each once, or the connection breaks and later ones are
lost. What it does not promise is used: the two sides learn of a break at different times, and a partition is silence.
"""

import asyncio
import errno
import itertools
import random
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any

from millstream_runtime.network.channel import Channel, ChannelUser
from millstream_runtime.network.connection_quotas import Entrance
from millstream_runtime.network.frames import Part
from millstream_runtime.network.links import (
    DEFAULT_LIMITS,
    Accept,
    Limits,
    OnFailedHandshake,
    Wrap,
    ignore_failed_handshake,
)
from millstream_runtime.simulated.loop import virtual_loop
from millstream_wire.late_dataclass import dataclass

SILENCE_MS = 8_000
"""How long a sender whose frames go nowhere believes in the connection (TCP's user timeout)."""
CONNECT_TIMEOUT_MS = 10_000
FIRST_FREE_PORT = 40_000
SILENT = float("inf")
SHORTEST_S = 1e-7


@dataclass(slots=True)
class Conditions:
    """How bad the network is; the scenario changes it while it runs."""

    delay_ms: tuple[float, float] = (0.1, 2.0)
    slow_probability: float = 0.01
    slow_delay_ms: tuple[float, float] = (20.0, 400.0)
    break_probability: float = 0.0
    """Of each frame: the connection breaks instead of carrying it (or just after)."""


class SimulatedNetwork:
    """All hosts of a simulation; each takes part through its `on(host)`."""

    def __init__(self, seed_random: random.Random, conditions: Conditions) -> None:
        self.random = seed_random
        self.conditions = conditions
        self.listeners: dict[tuple[str, int], SimulatedListener] = {}
        self.connections: dict[int, Connection] = {}
        self._numbers = itertools.count(1)
        self._ports = itertools.count(FIRST_FREE_PORT)
        self.links: dict[tuple[str, str], Conditions] = {}
        """Of one direction, where they are not everybody's: from whom, to whom."""
        self._cut: set[tuple[str, str]] = set()
        self._awaited_frames: dict[str, list[asyncio.Future[None]]] = {}

    def on(self, host: str) -> "HostNetwork":
        return HostNetwork(self, host)

    def cut(self, one: str, other: str) -> None:
        """From now on nothing passes between two hosts."""
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def cut_one_way(self, sender: str, receiver: str) -> None:
        """From now on what `sender` says does not reach `receiver`, while it hears all that `receiver` says."""
        self._cut.add((sender, receiver))

    def mend(self, one: str, other: str) -> None:
        self._cut.discard((one, other))
        self._cut.discard((other, one))

    def heal(self) -> None:
        """Every partition is over; connections that fell silent meanwhile break when their sender finds out."""
        self._cut.clear()
        self.links.clear()

    def passes(self, sender: str, receiver: str) -> bool:
        return (sender, receiver) not in self._cut

    def reachable(self, one: str, other: str) -> bool:
        """Whether they hear each other."""
        return self.passes(one, other) and self.passes(other, one)

    def conditions_of(self, sender: str, receiver: str) -> Conditions:
        return self.links.get((sender, receiver), self.conditions)

    def crash(self, host: str) -> None:
        """The host's process died: its listeners and connections are gone, the others learn by a reset."""
        for address in [address for address in self.listeners if address[0] == host]:
            del self.listeners[address]
        for connection in list(self.connections.values()):
            connection.host_died(host)

    async def frame_from(self, host: str) -> None:
        """Return when the host next sends something: a moment at which dying matters."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited_frames.setdefault(host, []).append(sent)
        await sent

    def note_sent(self, host: str) -> None:
        for sent in self._awaited_frames.pop(host, ()):
            if not sent.done():
                sent.set_result(None)

    def delay_s(self, sender: str, receiver: str) -> float:
        conditions = self.conditions_of(sender, receiver)
        slow = self.random.random() < conditions.slow_probability
        return self.random.uniform(*(conditions.slow_delay_ms if slow else conditions.delay_ms)) / 1000

    def next_number(self) -> int:
        return next(self._numbers)

    def free_port(self) -> int:
        return next(self._ports)


class HostNetwork:
    """`Network` as one host sees it."""

    def __init__(self, network: SimulatedNetwork, host: str) -> None:
        self._network = network
        self._host = host

    async def connect(
        self, host: str, port: int, use: Accept, *, limits: Limits = DEFAULT_LIMITS, wrap: Wrap | None = None
    ) -> "SimulatedChannel":
        assert wrap is None, "nothing is encrypted here"
        network = self._network
        await asyncio.sleep(network.delay_s(self._host, host))
        if not network.reachable(self._host, host):
            await asyncio.sleep(CONNECT_TIMEOUT_MS / 1000)
            raise TimeoutError(errno.ETIMEDOUT, f"no answer from {host}:{port}")
        listener = network.listeners.get((host, port))
        if listener is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens on {host}:{port}")
        connection = Connection(network, network.next_number(), self._host, host)
        connection.ends = (
            SimulatedChannel(connection, 0, f"{host}:{port}", limits, copy_context()),
            SimulatedChannel(
                connection, 1, f"{self._host}:{network.free_port()}", listener.limits, listener.context.copy()
            ),
        )
        network.connections[connection.number] = connection
        connection.ends[1].user = connection.ends[1].context.run(listener.accept, connection.ends[1])
        connection.ends[0].user = use(connection.ends[0])
        return connection.ends[0]

    async def listen(
        self,
        host: str,
        port: int,
        accept: Accept,
        *,
        limits: Limits = DEFAULT_LIMITS,
        wrap: Wrap | None = None,
        entrance: Entrance | None = None,
        on_failed_handshake: OnFailedHandshake = ignore_failed_handshake,
    ) -> "SimulatedListener":
        """Everybody is taken in."""
        assert wrap is None, "nothing is encrypted here"
        address = (self._host, port or self._network.free_port())
        if address in self._network.listeners:
            raise OSError(errno.EADDRINUSE, f"address already in use: {address}")
        listener = SimulatedListener(self._network, *address, accept, limits, copy_context())
        self._network.listeners[address] = listener
        return listener


@dataclass(eq=False, slots=True)
class SimulatedListener:
    network: SimulatedNetwork
    host: str
    port: int
    accept: Accept
    limits: Limits
    context: Context

    def close(self) -> None:
        if self.network.listeners.get((self.host, self.port)) is self:
            del self.network.listeners[self.host, self.port]


class Connection:
    """Two ends; what one sends reaches the other later, in order, while the connection lives."""

    def __init__(self, network: SimulatedNetwork, number: int, client: str, server: str) -> None:
        self.network = network
        self.number = number
        self.hosts = (client, server)
        self.ends: tuple[SimulatedChannel, SimulatedChannel]
        self._arrives_at = [0.0, 0.0]  # no frame overtakes the one before it
        self._unheard = [False, False]
        """Of each end: what it sent arrived, and it does not hear so."""

    def carry(self, sender: int, frame: bytes) -> None:
        """Take one frame towards the other end, or break."""
        network = self.network
        network.note_sent(self.hosts[sender])
        receiver = self.ends[1 - sender]
        here, there = self.hosts[sender], self.hosts[1 - sender]
        if not network.passes(here, there):
            self._fall_silent(sender)
            return
        if not network.passes(there, here):
            self._wait_unheard(sender)
        if network.random.random() < network.conditions_of(here, there).break_probability:
            if network.random.random() < 0.5:  # delivered, and only the answer is lost
                self._later(receiver, receiver.receive, frame)
            for end in self.ends:
                self._later(end, end.lose, "connection reset")
        else:
            self._later(receiver, receiver.receive, frame)

    def closed_by(self, end: int, reason: str) -> None:
        self.ends[end].lose(reason)
        other = self.ends[1 - end]
        self._later(other, other.lose, "closed by the peer")

    def host_died(self, host: str) -> None:
        for dead, each in enumerate(self.hosts):
            if each == host:
                self.ends[dead].vanish()
                other = self.ends[1 - dead]
                self._later(other, other.lose, "connection reset")

    def end_lost(self) -> None:
        if self.ends[0].gone and self.ends[1].gone:
            self.network.connections.pop(self.number, None)

    def _fall_silent(self, sender: int) -> None:
        """What was sent is lost; the sender finds out after a while, the other end later."""
        lost = 1 - sender
        if self._arrives_at[lost] == SILENT:
            return
        self._arrives_at[lost] = SILENT
        if not self.network.passes(self.hosts[lost], self.hosts[sender]):
            self._arrives_at[sender] = SILENT
        for number, end in enumerate(self.ends):
            wait_s = SILENCE_MS / 1000 * (1 if number == sender else self.network.random.uniform(1, 3))
            asyncio.get_running_loop().call_later(wait_s, end.lose, "no answer", context=end.context)

    def _wait_unheard(self, sender: int) -> None:
        """What is sent arrives, and nobody says so: if that is so for too long, the sender gives the connection up."""
        if self._unheard[sender]:
            return
        self._unheard[sender] = True
        end = self.ends[sender]

        def look() -> None:
            self._unheard[sender] = False
            if not self.network.passes(self.hosts[1 - sender], self.hosts[sender]):
                end.lose("no answer")

        asyncio.get_running_loop().call_later(SILENCE_MS / 1000, look, context=end.context)

    def _later(self, receiver: "SimulatedChannel", happen: Callable[..., None], *args: Any) -> None:
        """After the link's delay, and never before what was sent earlier the same way."""
        loop = virtual_loop()
        delay_s = self.network.delay_s(self.hosts[1 - receiver.number], self.hosts[receiver.number])
        at = max(loop.time() + delay_s, self._arrives_at[receiver.number])
        if at != SILENT:
            self._arrives_at[receiver.number] = at + SHORTEST_S
            loop.happen_at(at, happen, *args, context=receiver.context)


class SimulatedChannel(Channel):
    """One end of a connection."""

    def __init__(self, connection: Connection, end: int, peer: str, limits: Limits, context: Context) -> None:
        super().__init__(peer)
        self.context = context  # of the process at this end: what arrives is handled there
        self.user: ChannelUser
        self.gone = False
        self._connection = connection
        self.number = end
        self._frame_max_bytes = limits.frame_max_bytes
        self._paused = False
        self._held: list[bytes] = []
        self._delivered = 0

    def send(self, parts: Sequence[Part]) -> None:
        try:
            frame = b"".join(map(_bytes_of, parts))
        except OSError as error:  # of a file: a part of the answer is on its way, and the rest cannot be had
            self.close(f"unreadable file: {error}")
            return
        if not self.gone:
            self._connection.carry(self.number, frame)

    def send_small(self, content: bytes) -> None:
        self.send((content,))

    def pause_reading(self) -> None:
        self._paused = True

    def limit_frames(self, frame_max_bytes: int) -> None:
        self._frame_max_bytes = frame_max_bytes

    def resume_reading(self) -> None:
        self._paused = False
        asyncio.get_running_loop().call_soon(self._deliver_held, context=self.context)

    def close(self, reason: str = "closed here") -> None:
        if not self.gone:
            self._connection.closed_by(self.number, reason)

    def receive(self, frame: bytes) -> None:
        if self.gone:
            return
        if self._paused or self._held:
            self._held.append(frame)
        else:
            self._deliver(frame)

    def lose(self, reason: str) -> None:
        """This end learns that the connection is over."""
        if not self.gone:
            self.vanish()
            asyncio.get_running_loop().call_soon(self.user.on_closed, reason, context=self.context)

    def vanish(self) -> None:
        """This end's process is no more: nobody is told."""
        self.gone = True
        self._held.clear()
        self._connection.end_lost()

    def _deliver_held(self) -> None:
        while self._held and not self._paused and not self.gone:
            self._deliver(self._held.pop(0))

    def _deliver(self, frame: bytes) -> None:
        if not 0 < len(frame) <= self._frame_max_bytes:
            self.close(f"frame of {len(frame)} bytes")
            return
        self._delivered += 1
        if self._delivered % 2:  # users have to do with either
            self.user.on_frame(frame)
            return
        buffer = bytearray(frame)
        self.user.on_frame(memoryview(buffer))
        buffer[:] = b"\xdd" * len(buffer)  # whoever keeps a view longer than allowed reads this


def _bytes_of(part: Part) -> bytes | bytearray | memoryview:
    if isinstance(
        part, (bytes, bytearray, memoryview)
    ):  # asked first: to ask for a protocol costs a hundred times as much
        return part
    content = part.read()
    part.release()
    return content

"""The console beside a node: it listens from the start, and its process is started by the first who looks.

A process of its own: neither its imports nor its pages take anything from the broker, and who never looks pays for a socket.
"""

import asyncio
import contextlib
import socket
import sys

from millstream_runtime.properties import Properties, parse_address
from millstream_runtime.service import Health, Service
from millstream_runtime.serving.listeners import LOOPBACKS
from millstream_runtime.serving.security import PROTOCOL_MAP
from millstream_runtime.world import World
from millstream_security.protocol import SecurityProtocol
from millstream_wire.late_dataclass import dataclass

BY_PASSWORD = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN")
"""How a person can log in."""
_MECHANISMS = "sasl.enabled.mechanisms"
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_STOP_S = 5.0
_PAUSE_S = 2.0
"""Between a console that ended by itself and the next one."""


class LateConsole:
    """A `Service`."""

    name = "console"

    def __init__(self, listening: socket.socket, way_in: "WayIn", broker: Service, world: World) -> None:
        self._listening = listening
        self._way_in = way_in
        self._broker = broker
        self._world = world
        self.ready = asyncio.Event()
        self._trouble = ""

    @property
    def listeners(self) -> dict[str, tuple[str, int]]:
        host, port = self._listening.getsockname()[:2]
        return {"HTTP": (host, port)}

    def health(self) -> Health:
        """What a page cannot show is no reason to restart a broker."""
        return Health(healthy=True, ready=True, detail=self._trouble)

    async def run(self) -> None:
        self.ready.set()
        try:
            await self._broker.ready.wait()
            while True:
                await self._somebody()
                await self._serve()
                await asyncio.sleep(_PAUSE_S)
        finally:
            self._listening.close()

    async def _somebody(self) -> None:
        """Until somebody connects; who does waits in the socket's queue until the process is there."""
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_reader(self._listening.fileno(), came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(self._listening.fileno())

    async def _serve(self) -> None:
        fd = self._listening.fileno()
        # Its input ends with this process, however that ends.
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", *self._command(fd), stdin=asyncio.subprocess.PIPE, pass_fds=[fd]
            )
        except OSError as error:  # no descriptors or processes are left: no reason to stop a broker
            self._trouble = f"cannot start: {error}"
            return
        try:
            self._trouble = f"ended with {await process.wait()}"
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(_STOP_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
            raise

    def _command(self, fd: int) -> list[str]:
        host, port = self._broker.listeners[self._way_in.listener]
        bootstrap = _text(LOOPBACKS.get(host, host), port)
        command = ["-m", "millstream_console.main", "--socket", str(fd), "--bootstrap", bootstrap]
        for advertised, bound in self._world.own_addresses.items():
            command += ["--reach", f"{_text(*advertised)}={_text(*bound)}"]
        if self._way_in.protocol.uses_sasl:
            command += ["--set", f"security.protocol={self._way_in.protocol.name}"]
            command += [word for each in self._way_in.mechanisms for word in ("--mechanism", each)]
        return command


@dataclass(frozen=True, slots=True)
class WayIn:
    """By which of a broker's listeners its console comes in."""

    listener: str
    protocol: SecurityProtocol
    mechanisms: tuple[str, ...]

    @classmethod
    def of(cls, properties: Properties, host: str) -> "WayIn | None":
        """For who reaches the console on `host`. None if every listener asks for what nobody has told the console, or lets in only
        who is nearer: a listener for this machine or for brokers alone must not become everybody's.
        """
        protocols = dict(each.split(":", 1) for each in properties.texts(PROTOCOL_MAP, "") if ":" in each)
        mechanisms = tuple(each for each in properties.texts(_MECHANISMS, "") if each in BY_PASSWORD)
        for each in properties.texts("listeners"):
            name = each.partition("://")[0]
            protocol = SecurityProtocol.named(protocols.get(name, name).strip())
            reached = {*LOOPBACKS, host}
            is_open = protocol is SecurityProtocol.PLAINTEXT and (
                host in _THIS_MACHINE or parse_address("listeners", each)[0] in reached
            )
            if protocol is not None and (is_open or (protocol is SecurityProtocol.SASL_PLAINTEXT and mechanisms)):
                return cls(name, protocol, mechanisms)
        return None


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

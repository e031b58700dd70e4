"""Worlds to run a test in: the operating system's network on a real loop, and the simulated one in virtual time."""

import asyncio
import random
import ssl

import pytest
from certificates import Authority
from socket_peers import Encryption, Harness

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_runtime.world import RealWorld
from millstream_security.protocol import ListenerProperties
from millstream_security.tls.contexts import ServerTls
from millstream_security.tls.settings import TlsSettings


class RealHosts:
    """Every host is 127.0.0.1."""

    def __init__(self) -> None:
        self.network = SocketNetwork()

    def world(self, host: str) -> RealWorld:
        return RealWorld(self.network)

    def address(self, host: str) -> str:
        return "127.0.0.1"

    def run(self, coroutine):
        return asyncio.run(coroutine)


class SimulatedHosts:
    def __init__(self) -> None:
        self.network = SimulatedNetwork(random.Random(1), Conditions())

    def world(self, host: str) -> SimulatedWorld:
        return SimulatedWorld(self.network, host, random.Random(2))

    def address(self, host: str) -> str:
        return host

    def run(self, coroutine):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(coroutine)


@pytest.fixture(params=["real", "simulated"])
def hosts(request):
    return RealHosts() if request.param == "real" else SimulatedHosts()


@pytest.fixture
def real_hosts():
    return RealHosts()


@pytest.fixture
def simulated_hosts():
    return SimulatedHosts()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=["plain", "TLSv1.2", "TLSv1.3"])
def each_channel(request: pytest.FixtureRequest, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test comes once for each kind of channel."""
    if request.param == "plain":
        return
    node = authority.issue("CN=node", "127.0.0.1")
    given = {"ssl.keystore.location": str(node.file), "ssl.enabled.protocols": request.param}
    server = ServerTls("L", TlsSettings.of(ListenerProperties("L", given.get)))
    peer = ssl.create_default_context(cafile=str(authority.file))
    monkeypatch.setattr(Harness, "encryption", Encryption(server.wrap, peer))

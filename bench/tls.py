"""The bench over TLS: certificates for its servers and its client, and what is measured with them.

Both servers have the same key and certificate, and librdkafka and Python, which are the clients, settle on the same suite with both.
"""

import os
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

from cases import Case, Client, Done, fetch_back, librdkafka
from certificates import Authority


@dataclass(frozen=True, slots=True)
class Tls:
    """What servers are told, and what clients are."""

    server: dict[str, str]
    client: Client
    authority: Path

    @staticmethod
    def make(directory: Path) -> "Tls":
        authority = Authority(directory)
        node = authority.issue("CN=node", "127.0.0.1")
        server = {
            "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(node.file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.file),
            "authorizer.class.name": "",
        }
        client: Client = {
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.file),
        }
        return Tls(server, client, authority.file)


def handshakes(name: str, *, count: int, version: ssl.TLSVersion, authority: Path) -> Case:
    """Whole ones, one after the other, each on a connection of its own that is closed at once."""

    def run(client: Client, topic: str, scale: float) -> Done:
        context = ssl.create_default_context(cafile=str(authority))
        context.minimum_version = context.maximum_version = version
        host, _, port = str(client["bootstrap.servers"]).partition(":")
        number = max(10, round(count * scale))
        cpu_before, started = os.times(), time.monotonic()
        for _ in range(number):
            with context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as connected:
                if connected.session_reused:
                    raise RuntimeError(f"{name}: not a whole handshake")
        seconds, cpu_after = time.monotonic() - started, os.times()
        client_cpu_s = cpu_after.user + cpu_after.system - cpu_before.user - cpu_before.system
        return Done(number, 0, seconds, client_cpu_s)

    return Case(name, run)


def tls_cases(tls: Tls) -> list[Case]:
    newest, older = ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2
    return [
        librdkafka("TLS: librdkafka, 100 B, linger 5 ms", messages=2_000_000, value_size=100),
        librdkafka("TLS: librdkafka, 1 KiB, linger 5 ms", messages=300_000, value_size=1024, has_floor=True),
        fetch_back("TLS: fetching 1 KiB back", messages=300_000, value_size=1024, passes=3),
        handshakes("TLS 1.3 handshakes", count=2_000, version=newest, authority=tls.authority),
        handshakes("TLS 1.2 handshakes", count=2_000, version=older, authority=tls.authority),
    ]

"""Free ports of this machine."""

import errno
import os
import random
import socket
from collections.abc import Iterable

# Below the range from which the system takes the ports of outgoing connections: a node that is restarted finds its own again.
FIRST = 15_000
LAST = 32_000
ATTEMPTS = 200
_HINTS = {
    errno.EADDRINUSE: "another node, or another program? `ss -ltnp` names it; --port takes other ports, --port 0 any free ones",
    errno.EADDRNOTAVAIL: "not an address of this machine; --host 0.0.0.0 listens on all of them",
    errno.EACCES: "ports below 1024 are for root; --port takes others",
}


def free_ports(host: str, count: int) -> list[int]:
    """A row of ports that nobody listens on now; somebody else may be faster."""
    for _ in range(ATTEMPTS):
        first = random.randrange(FIRST, LAST - count)
        ports = list(range(first, first + count))
        try:
            check_free((host, port) for port in ports)
        except OSError:
            continue
        return ports
    raise OSError(f"no {count} free ports in a row on {host}")


def check_free(addresses: Iterable[tuple[str, int]]) -> None:
    """Raise OSError for the first address that cannot be listened on, saying which: before anything else is started."""
    for host, port in addresses:
        listen(host, port).close()


def listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    text = os.strerror(error.errno or 0)
    hint = _HINTS.get(error.errno or 0)
    return text if hint is None else f"{text} ({hint})"

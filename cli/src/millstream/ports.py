"""Free ports of this machine."""

import os
import socket
from collections.abc import Iterable
from contextlib import ExitStack


def free_ports(host: str, count: int) -> list[int]:
    """Different ports that nobody listens on now; somebody else may be faster."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server((host, 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def check_free(addresses: Iterable[tuple[str, int]]) -> None:
    """Raise OSError for the first address that cannot be listened on, saying which: before anything else is started."""
    for host, port in addresses:
        try:
            socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        except OSError as error:
            raise OSError(error.errno, f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}") from None

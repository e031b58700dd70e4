"""Ports for the servers that a test process starts, out of a range that no other test process takes from.

Between the moment that a port is found free and that in which a server listens on it, anybody may take it; and a server that is killed and
started again wants its own back. So the ranges lie below those that `millstream` and the system choose from.
"""

import contextlib
import functools
import socket

from millstream.ports import check_free

LOOPBACK = "127.0.0.1"
FIRST = 10_000
LAST = 15_000
RANGE = 250


class _Range:
    """Whoever listens on its first port has it, until the process ends."""

    def __init__(self) -> None:
        for first in range(FIRST, LAST, RANGE):
            with contextlib.suppress(OSError):
                self._guard = socket.create_server((LOOPBACK, first))
                break
        else:
            raise AssertionError(f"no range of ports from {FIRST} to {LAST} is free")
        self._first, self._end = first + 1, first + RANGE
        self._next = self._first

    def take(self, count: int) -> list[int]:
        for _ in range(RANGE):
            if self._next + count > self._end:
                self._next = self._first
            ports = list(range(self._next, self._next + count))
            self._next += count
            with contextlib.suppress(OSError):
                check_free((LOOPBACK, port) for port in ports)
                return ports
        raise AssertionError(f"no {count} free ports in a row from {self._first} to {self._end}")


_range = functools.cache(_Range)


def free_ports(count: int) -> list[int]:
    """A row of them; those given before come again only when all others were."""
    return _range().take(count)

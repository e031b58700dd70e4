"""Lines of a file descriptor as they come, without blocking the event loop where the system can tell when there are some."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

_CHUNK_BYTES = 1 << 16
STANDARD_INPUT = 0


@contextmanager
def opened(path: Path | None) -> Iterator[tuple[int, int | None]]:
    """The descriptor of a file, else of the standard input, and how many bytes there are to come, if that is known."""
    if path is None:
        yield STANDARD_INPUT, None
        return
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd, os.fstat(fd).st_size or None
    finally:
        os.close(fd)


async def read_lines(fd: int) -> AsyncIterator[bytes]:
    """Lines without their ends; the last one may lack one."""
    rest = b""
    while chunk := await _read(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if rest:
        yield rest.removesuffix(b"\r")


async def _read(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(fd, readable.set)
    except PermissionError:  # a regular file, which never makes anybody wait
        return os.read(fd, _CHUNK_BYTES)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(fd)
    return os.read(fd, _CHUNK_BYTES)

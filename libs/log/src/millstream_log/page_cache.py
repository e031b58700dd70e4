"""What of a file is in memory, and bringing in what is not, so that an event loop never waits for the disk.

File systems that cannot be asked count as memory: reading them waits as it always did.
"""

import errno
import os
from collections.abc import Callable
from typing import TypeAlias

Reader: TypeAlias = Callable[[int, int, int], bytes | bytearray]
"""Reads so many bytes of a descriptor from a position; or fewer, only at the end of the file."""


class NotResident(Exception):
    """A reader that does not wait met what is on the disk only."""

    def __init__(self, position: int, length: int) -> None:
        super().__init__(f"{length} bytes at {position}")
        self.position = position
        self.length = length


def is_resident(fd: int, position: int) -> bool:
    """Whether the byte at `position` can be read at once."""
    try:
        os.preadv(fd, [bytearray(1)], position, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    return True


def read_resident(fd: int, length: int, position: int) -> bytes | bytearray | None:
    """Read exactly `length` bytes; None if that would wait for the disk, or the file is shorter."""
    data = bytearray(length)
    try:
        count = os.preadv(fd, [data], position, os.RWF_NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        count = os.preadv(fd, [data], position)
    return data if count == length else None


def read_at_once(fd: int, length: int, position: int) -> bytes | bytearray:
    """The `Reader` that never waits: it raises NotResident."""
    data = read_resident(fd, length, position)
    if data is None:
        raise NotResident(position, length)
    return data


def load(fd: int, length: int, position: int) -> None:
    """Bring a range of a file into memory: waits for the disk, so it is work for a thread. Nothing is copied."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        end = position + length
        while position < end:
            count = os.sendfile(nowhere, fd, position, end - position)
            if count == 0:
                return  # the file is shorter: whoever reads it will see
            position += count
    finally:
        os.close(nowhere)

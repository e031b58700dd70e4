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

"""What of a file is in memory, and bringing in what is not, so that an event loop never waits for the disk.

File systems that cannot be asked count as memory: reading them waits as it always did.
"""

import errno
import os


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
        return os.pread(fd, length, position)
    return data if count == length else None


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

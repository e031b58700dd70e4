"""The lock on a data directory: one process at a time, Apache Kafka's included."""

import errno
import fcntl
import os
from pathlib import Path

from millstream_log.errors import UnusableDirectory


class DirectoryLock:
    """Both kinds of lock: POSIX's, which Java takes, and BSD's, which also keeps two nodes of one process apart."""

    __slots__ = ("_fd",)

    def __init__(self, directory: Path) -> None:
        self._fd = -1
        try:
            self._fd = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UnusableDirectory(f"{directory} cannot be written to: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            raise UnusableDirectory(f"{directory} is in use by another process") from (
                None if error.errno in (errno.EAGAIN, errno.EACCES) else error
            )

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.release()

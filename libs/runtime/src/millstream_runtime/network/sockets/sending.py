"""Frames to one socket: what is queued in a tick goes out together, small frames as one piece, file slices by sendfile.

A file slice is pinned by its owner until it is released here, sent or not; a file that turns out shorter than its slice ends
the connection, because its length is already on the way. sendfile would wait for the disk where a slice is not in memory, and
every other connection with it: what is next to go is looked for first, and if it is missing the sender says so and stops.
"""

import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i64

from millstream_runtime.network.frames import FileSlice, Part

GATHER_MAX: Final = 512  # IOV_MAX is 1024
JOINED_MAX_BYTES: Final = 16 * 1024
COPIED_SLICE_MAX_BYTES: Final = 64 * 1024  # below, reading costs less than a call of its own
FLUSH_MAX_BYTES: Final = 4 * 1024 * 1024  # one connection's share of a tick
WINDOW_BYTES: Final = (
    1024 * 1024
)  # looked for, and loaded, at a time; its ends stand for all of it, as files are cached in runs
LENGTH_BYTES: Final = 4
_write: Final = os.write  # final: compiled, any other name of a module is searched for


class UnreadableFile(Exception):
    """A file slice cannot be sent in full: the file is shorter, or its disk gives an error."""


class Sender:
    """The unsent bytes of one connection: what is in `_queue`, then what is in `_small`."""

    __slots__ = ("_fd", "_queue", "_small", "_sock", "loading", "unsent_bytes")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._queue: list[bytes | bytearray | memoryview | Sending] = []
        self._small = BytesWriter()
        self.unsent_bytes: i64 = 0
        self.loading: Callable[[], None] | None = None
        """What `flush` stopped for: work for a thread, after which it is to be called again."""

    def put_small(self, content: bytes) -> None:
        """Queue one frame that costs less to copy than to remember."""
        size = len(content)
        write_i32_be(self._small, size)
        self._small.write(content)
        self.unsent_bytes += LENGTH_BYTES + size

    def put(self, parts: Sequence[Part]) -> None:
        """Queue one frame."""
        total = sum(map(len, parts))
        write_i32_be(self._small, total)
        for part in parts:
            size = len(part)
            if isinstance(part, (bytes, bytearray, memoryview)):
                self._put_bytes(part)
            elif not size:
                part.release()
            elif size < COPIED_SLICE_MAX_BYTES and (content := _resident(part)) is not None:
                self._put_bytes(content)
                part.release()
            else:
                self._put_large(Sending(part))
        self.unsent_bytes += LENGTH_BYTES + total

    def _put_bytes(self, content: bytes | bytearray | memoryview) -> None:
        if isinstance(content, (bytes, bytearray)) and len(content) <= JOINED_MAX_BYTES:
            self._small.write(content)
        else:
            self._put_large(content)

    def _put_large(self, entry: "bytes | bytearray | memoryview | Sending") -> None:
        self._take_small()
        self._queue.append(entry)

    def _take_small(self) -> None:
        if len(self._small):
            self._queue.append(self._small.getvalue())
            self._small = BytesWriter()

    def flush(self) -> bool:
        """Send what the socket takes (bounded) and memory has; True when nothing is left. Raises OSError, UnreadableFile."""
        if not self._queue:
            return self._flush_small()
        self.loading = None
        self._take_small()
        budget = FLUSH_MAX_BYTES
        queue = self._queue
        while queue:
            if budget <= 0:
                return False
            first = queue[0]
            try:
                if isinstance(first, Sending):
                    self.loading = first.missing()
                    if self.loading is not None:
                        return False
                    sent = first.send(self._sock)
                    if first.unsent_bytes == 0:
                        queue.pop(0)
                        first.slice.release()
                elif len(queue) == 1:
                    sent = self._sock.send(first)
                    if sent < len(first):
                        queue[0] = memoryview(first)[sent:]
                    else:
                        queue.pop()
                else:
                    sent = self._send_gathered()
            except (BlockingIOError, InterruptedError):
                return False
            self.unsent_bytes -= sent
            budget -= sent
        return True

    def _flush_small(self) -> bool:
        """What nearly every flush is: a few small frames and nothing else, which the socket takes whole."""
        content = self._small.getvalue()
        size: i64 = len(content)
        if not size:
            return True
        if size > JOINED_MAX_BYTES:
            self._small = BytesWriter()
        else:
            self._small.truncate(0)
        try:
            sent = _write(self._fd, content)
        except (BlockingIOError, InterruptedError):
            sent = 0
        self.unsent_bytes -= sent
        if sent == size:
            return True
        self._queue.append(memoryview(content)[sent:])
        return False

    def close(self) -> None:
        for entry in self._queue:
            if isinstance(entry, Sending):
                entry.slice.release()
        self._fd = -1
        self._queue.clear()
        self._small = BytesWriter()
        self.unsent_bytes = 0

    def _send_gathered(self) -> int:
        queue, sock = self._queue, self._sock
        run: list[bytes | bytearray | memoryview] = []
        more = 0
        for entry in queue:
            if isinstance(entry, Sending):
                more = socket.MSG_MORE
                break
            run.append(entry)
            if len(run) == GATHER_MAX:
                break
        sent = sock.send(run[0], more) if len(run) == 1 else sock.sendmsg(run, (), more)
        left = sent
        whole = 0
        for each in run:
            if left < len(each):
                if left:
                    queue[whole] = memoryview(each)[left:]
                break
            left -= len(each)
            whole += 1
        del queue[:whole]
        return sent


class Sending:
    """A file slice on its way."""

    __slots__ = ("position", "ready_end", "slice", "unsent_bytes")

    def __init__(self, part: FileSlice) -> None:
        self.slice = part
        self.position = part.position
        self.unsent_bytes = len(part)
        self.ready_end = part.position
        """Up to where it was found in memory, or is loaded by the time that the sender goes on."""

    def missing(self) -> Callable[[], None] | None:
        """How to load what goes next, if it is not in memory; each part is looked for once."""
        if self.position < self.ready_end:
            return None
        length = min(WINDOW_BYTES, self.unsent_bytes)
        self.ready_end = self.position + length
        try:
            if self.slice.is_resident(self.position) and self.slice.is_resident(self.ready_end - 1):
                return None
        except OSError as error:
            raise UnreadableFile(str(error)) from error
        return self.slice.loading(self.position, length)

    def send(self, sock: socket.socket) -> int:
        try:
            sent: int = os.sendfile(sock.fileno(), self.slice.fileno(), self.position, self.ready_end - self.position)
        except OSError as error:
            if error.errno == errno.EIO:  # anything else is the socket's
                raise UnreadableFile(str(error)) from error
            raise
        if sent == 0:
            raise UnreadableFile(f"{self.unsent_bytes} bytes of a file slice are not there")
        self.position += sent
        self.unsent_bytes -= sent
        return sent


def _resident(part: FileSlice) -> bytes | bytearray | None:
    """What is in memory of a small slice; None where it is not, or there is an error that sending it will meet."""
    try:
        return part.read_resident()
    except OSError:
        return None

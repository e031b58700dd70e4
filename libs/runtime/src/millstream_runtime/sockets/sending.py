"""Frames to one socket: everything queued in a tick goes out by one gathered send, file slices by sendfile.

A file slice is pinned by its owner until it is released here, sent or not; a file that turns out shorter than its slice ends
the connection, because its length is already on the way. sendfile would wait for the disk where a slice is not in memory, and
every other connection with it: what is next to go is looked for first, and if it is missing the sender says so and stops.
"""

import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from millstream_runtime.network import FileSlice, Part

GATHER_MAX: Final = 512  # IOV_MAX is 1024
JOINED_MAX_BYTES: Final = 16 * 1024
COPIED_SLICE_MAX_BYTES: Final = 64 * 1024  # below, reading costs less than a call of its own
FLUSH_MAX_BYTES: Final = 4 * 1024 * 1024  # one connection's share of a tick
WINDOW_BYTES: Final = (
    1024 * 1024
)  # looked for, and loaded, at a time; its ends stand for all of it, as files are cached in runs
_LENGTH: Final = 4


class UnreadableFile(Exception):
    """A file slice cannot be sent in full: the file is shorter, or its disk gives an error."""


class Sender:
    """The unsent bytes of one connection."""

    __slots__ = ("_queue", "loading", "unsent_bytes")

    def __init__(self) -> None:
        self._queue: list[bytes | bytearray | memoryview | _Sending] = []
        self.unsent_bytes = 0
        self.loading: Callable[[], None] | None = None
        """What `flush` stopped for: work for a thread, after which it is to be called again."""

    def put(self, parts: Sequence[Part]) -> None:
        """Queue one frame."""
        queue = self._queue
        if len(parts) == 1:
            only = parts[0]
            if isinstance(only, bytes) and len(only) <= JOINED_MAX_BYTES:
                queue.append(len(only).to_bytes(_LENGTH, "big") + only)
                self.unsent_bytes += _LENGTH + len(only)
                return
        length_at = len(queue)
        queue.append(b"")
        total = 0
        for part in parts:
            size = len(part)
            if not size:
                if isinstance(part, FileSlice):
                    part.release()
                continue
            total += size
            if isinstance(part, (bytes, memoryview)):
                queue.append(part)
            elif isinstance(part, bytearray):
                queue.append(memoryview(part))
            elif size < COPIED_SLICE_MAX_BYTES:
                content = _resident(part)
                if content is None:
                    queue.append(_Sending(part))
                else:
                    queue.append(content)
                    part.release()
            else:
                queue.append(_Sending(part))
        queue[length_at] = total.to_bytes(_LENGTH, "big")
        self.unsent_bytes += _LENGTH + total

    def flush(self, sock: socket.socket) -> bool:
        """Send what the socket takes (bounded) and memory has; True when nothing is left. Raises OSError, UnreadableFile."""
        self.loading = None
        budget = FLUSH_MAX_BYTES
        queue = self._queue
        while queue:
            if budget <= 0:
                return False
            first = queue[0]
            try:
                if isinstance(first, _Sending):
                    self.loading = first.missing()
                    if self.loading is not None:
                        return False
                    sent = first.send(sock)
                    if first.unsent_bytes == 0:
                        queue.pop(0)
                        first.slice.release()
                elif len(queue) == 1:
                    sent = sock.send(first)
                    if sent < len(first):
                        queue[0] = memoryview(first)[sent:]
                    else:
                        queue.pop()
                else:
                    sent = self._send_gathered(sock)
            except (BlockingIOError, InterruptedError):
                return False
            self.unsent_bytes -= sent
            budget -= sent
        return True

    def close(self) -> None:
        for entry in self._queue:
            if isinstance(entry, _Sending):
                entry.slice.release()
        self._queue.clear()
        self.unsent_bytes = 0

    def _send_gathered(self, sock: socket.socket) -> int:
        queue = self._queue
        run: list[bytes | bytearray | memoryview] = []
        more = 0
        for entry in queue:
            if isinstance(entry, _Sending):
                more = socket.MSG_MORE
                break
            run.append(entry)
            if len(run) == GATHER_MAX:
                break
        if len(run) == 1:
            sent = sock.send(run[0], more)
        elif self.unsent_bytes <= JOINED_MAX_BYTES and not more:
            sent = sock.send(b"".join(run))  # a copy of little costs less than a list of many
        else:
            sent = sock.sendmsg(run, (), more)
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


class _Sending:
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
            sent = os.sendfile(sock.fileno(), self.slice.fileno(), self.position, self.ready_end - self.position)
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

"""Bytes from one socket to whole frames.

All connections share one receive buffer, because its frames are handled before the next socket is read; only a frame that has
begun but not ended keeps bytes of its own, in a pooled buffer that grows as they really arrive (a length alone costs nothing).
A connection that sends little at a time is read into bytes of about that size instead, from which frames are cut at the least cost.
"""

import os
import socket
from typing import Final

from librt.strings import read_i32_be
from mypy_extensions import i64

from millstream_runtime.network.frames import Frame
from millstream_runtime.network.sockets.pool import BufferPool

SHARED_BUFFER_BYTES: Final = 256 * 1024
FEW_BYTES: Final = 440  # what the allocator of small objects gives
NEAR_BYTES: Final = 4096  # frames are cut out of a copy of so much
FIRST_BYTES: Final = 4096
GROWTH: Final = 16  # a frame's buffer is at most this many times what has arrived of it
LENGTH_BYTES: Final = 4
NO_MEMORY: Final = -1

_NOTHING: Final = b""
_read: Final = os.read  # final: compiled, any other name of a module is searched for


class BadFrame(Exception):
    """The length of a frame is negative or too large: whoever sent it does not speak this protocol."""


class Receiver:
    """Reads one socket: after each `receive`, `next_frame` gives what is whole, until there is none or `hold` keeps the rest.

    Invariant: what has arrived and was not given out is `_near[_near_at:]` and then, if there is a view, what follows its
    window `_near` in it; or it is the partial frame.
    """

    __slots__ = (
        "_expected",
        "_fd",
        "_filled",
        "_frame_bytes",
        "_frame_max_bytes",
        "_lent",
        "_near",
        "_near_at",
        "_partial",
        "_pool",
        "_shared",
        "_sock",
        "_view",
        "_view_at",
        "_view_end",
        "holds_frames",
    )

    def __init__(self, sock: socket.socket, shared: bytearray, pool: BufferPool, frame_max_bytes: int) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._shared = memoryview(shared)
        self._pool = pool
        self._frame_max_bytes: i64 = frame_max_bytes
        self._expected: i64 = FEW_BYTES  # at a time; more than NEAR_BYTES go into the shared buffer
        self._near = _NOTHING
        self._near_at: i64 = 0
        self._view: memoryview | None = None
        self._view_at: i64 = 0  # where in the view the window begins
        self._view_end: i64 = 0
        self._partial: bytearray | None = None
        self._frame_bytes: i64 = 0  # of the partial frame, with its length; 0 while the length itself is not whole
        self._filled: i64 = 0  # bytes of it that are here
        self._lent: bytearray | None = None  # holds the frame that was given out last
        self.holds_frames = False
        """Whole and partial frames that arrived but may not be handled yet; nothing may be received before."""

    @property
    def in_frame(self) -> bool:
        """A frame has begun and not ended."""
        return self._filled > 0

    @property
    def frame_bytes(self) -> int:
        return self._frame_bytes

    def receive(self) -> int:
        """Read once; the bytes read, 0 at the end of the stream, NO_MEMORY."""
        partial = self._partial
        if partial is not None:
            return self._receive_rest(partial)
        expected = self._expected
        if expected <= NEAR_BYTES:
            near = _read(self._fd, expected)
            self._near, self._near_at = near, 0
            count = len(near)
        else:
            count = self._sock.recv_into(self._shared)
            self._look_at(self._shared, count)
        self._expected = _as_much_as(count)
        return count

    def next_frame(self) -> Frame | None:
        """Give out the next whole frame; a view is valid until the next call, or `hold`."""
        near, at = self._near, self._near_at
        left: i64 = len(near) - at
        if left >= LENGTH_BYTES:
            size = self._length_at(near, at)
            if size <= left:
                self._near_at = at + size
                return near[at + LENGTH_BYTES : at + size]
            return self._next_beyond(left, size)
        return self._next_beyond(left, 0)

    def limit(self, frame_max_bytes: int) -> None:
        """No frame that begins from now on may be longer."""
        self._frame_max_bytes = frame_max_bytes

    def hold(self) -> None:
        """Handle no more for now: keep what has arrived where the next socket's bytes do not go."""
        self._take_back()
        rest = self._near[self._near_at :]
        view = self._view
        if view is not None:
            rest = bytes(view[self._view_at + self._near_at : self._view_end])
        self._forget_arrived()
        self._near = rest
        self.holds_frames = len(rest) > 0

    def resume(self) -> None:
        """What was held may be handled."""
        self.holds_frames = False

    def close(self) -> None:
        """Let go of everything but the frame that was given out last, which may be in use: `hold` follows it."""
        self._fd = -1
        self._forget_arrived()
        self.holds_frames = False
        if self._partial is not None:
            self._pool.give_back(self._partial)
            self._partial = None

    def _forget_arrived(self) -> None:
        self._near, self._near_at = _NOTHING, 0
        self._view, self._view_at, self._view_end = None, 0, 0

    def _take_back(self) -> None:
        if self._lent is not None:
            self._pool.give_back(self._lent)
            self._lent = None

    def _look_at(self, view: memoryview, end: i64) -> None:
        self._near, self._near_at = _NOTHING, 0
        self._view, self._view_at, self._view_end = view, 0, end

    def _move_window(self, view: memoryview, start: i64) -> None:
        self._view_at, self._near_at = start, 0
        self._near = bytes(view[start : min(self._view_end, start + NEAR_BYTES)])

    def _next_beyond(self, left: i64, size: i64) -> Frame | None:
        """The window has no more whole frame: `left` bytes of one that has `size`, if that is known."""
        self._take_back()
        partial = self._partial
        if partial is not None:
            return self._finished(partial)
        view, at = self._view, self._near_at
        if view is None:
            if left:
                self._begin(memoryview(self._near)[at:], size)
            self._near, self._near_at = _NOTHING, 0
            return None
        start: i64 = self._view_at + at
        end = self._view_end
        if start < end and (at or not self._near):
            self._move_window(view, start)
            return self.next_frame()
        if size and start + size <= end:  # it is longer than a window
            self._move_window(view, start + size)
            return view[start + LENGTH_BYTES : start + size]
        if start < end:
            self._begin(view[start:end], size)
        self._forget_arrived()
        return None

    def _length_at(self, content: bytes, position: i64) -> i64:
        """Length of the frame with its length field."""
        length: int = read_i32_be(content, position)
        if not 0 < length <= self._frame_max_bytes:
            raise BadFrame(f"frame of {length} bytes")
        return LENGTH_BYTES + length

    def _receive_rest(self, partial: bytearray) -> int:
        """Read more of the partial frame, and into the shared buffer what follows it."""
        if self._filled == len(partial):
            if not self._grow():
                return NO_MEMORY
            partial = self._partial or partial
        end = min(self._frame_bytes or LENGTH_BYTES, len(partial))
        missing = end - self._filled
        if end == self._frame_bytes:
            count = self._sock.recvmsg_into([memoryview(partial)[self._filled : end], self._shared])[0]
        else:
            count = self._sock.recv_into(memoryview(partial)[self._filled : end])
        self._filled += min(count, missing)
        if self._filled == LENGTH_BYTES and not self._frame_bytes:
            self._frame_bytes = self._length_at(bytes(partial[:LENGTH_BYTES]), 0)
        elif self._filled == self._frame_bytes:
            self._look_at(self._shared[: count - missing], count - missing)
        return count

    def _finished(self, partial: bytearray) -> memoryview | None:
        """Give out the frame that was partial, once it is whole."""
        end = self._frame_bytes
        if self._filled < end or not end:
            return None
        self._partial, self._frame_bytes, self._filled = None, 0, 0
        self._lent = partial
        return memoryview(partial)[LENGTH_BYTES:end]

    def _begin(self, beginning: memoryview, frame_bytes: i64) -> None:
        have: i64 = len(beginning)
        wanted = min(max(frame_bytes, LENGTH_BYTES), max(GROWTH * have, FIRST_BYTES))
        buffer = self._pool.take(wanted)
        if buffer is None:
            buffer = self._pool.take_anyway(have)
        buffer[:have] = beginning
        self._partial, self._frame_bytes, self._filled = buffer, frame_bytes, have

    def _grow(self) -> bool:
        """Make room for more of the frame, in proportion to what is here."""
        old = self._partial
        assert old is not None
        larger = self._pool.take(min(self._frame_bytes or FIRST_BYTES, GROWTH * len(old)), held_bytes=len(old))
        if larger is None:
            return False
        larger[: self._filled] = memoryview(old)[: self._filled]
        self._pool.give_back(old)
        self._partial = larger
        return True


def _as_much_as(count: i64) -> i64:
    """What to read next time, after so much came this time."""
    if count < FEW_BYTES:
        return FEW_BYTES
    return NEAR_BYTES if count < NEAR_BYTES else SHARED_BUFFER_BYTES

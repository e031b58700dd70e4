"""Bytes from one socket to whole frames.

All connections share one receive buffer, because a frame is handled before the next socket is read; only a frame that has
begun but not ended keeps bytes of its own, in a pooled buffer that grows as they really arrive (a length alone costs nothing).
"""

import socket
from collections.abc import Callable
from typing import Final

from librt.strings import read_i32_be

from millstream_runtime.network import Frame
from millstream_runtime.sockets.pool import BufferPool

SHARED_BUFFER_BYTES: Final = 256 * 1024
NEAR_BYTES: Final = 4096  # frames are cut out of a copy of so much
FIRST_BYTES: Final = 4096
GROWTH: Final = 16  # a frame's buffer is at most this many times what has arrived of it
LENGTH_BYTES: Final = 4
NO_MEMORY: Final = -1


class BadFrame(Exception):
    """The length of a frame is negative or too large: whoever sent it does not speak this protocol."""


class Receiver:
    """Reads one socket. `on_frame` returns False when no further frame may be handled now (they are held)."""

    __slots__ = ("_filled", "_frame_bytes", "_frame_max_bytes", "_held", "_on_frame", "_partial", "_pool", "_shared")

    def __init__(
        self, shared: bytearray, pool: BufferPool, frame_max_bytes: int, on_frame: Callable[[Frame], bool]
    ) -> None:
        self._shared = memoryview(shared)
        self._pool = pool
        self._frame_max_bytes = frame_max_bytes
        self._on_frame = on_frame
        self._partial: bytearray | None = None
        self._frame_bytes = 0  # of the partial frame, with its length; 0 while the length itself is not whole
        self._filled = 0  # bytes of it that are here
        self._held = b""  # whole and partial frames that arrived but may not be handled yet

    @property
    def in_frame(self) -> bool:
        """A frame has begun and not ended."""
        return self._filled > 0

    @property
    def holds_frames(self) -> bool:
        """Something waits for `resume`; nothing may be received before."""
        return bool(self._held)

    @property
    def frame_bytes(self) -> int:
        return self._frame_bytes

    def receive(self, sock: socket.socket) -> int:
        """Read once, handle every frame that is whole now; the bytes read, 0 at the end of the stream, NO_MEMORY."""
        partial = self._partial
        if partial is None:
            count = sock.recv_into(self._shared)
            if count:
                self._split(self._shared, count)
            return count
        if self._filled == len(partial):
            if not self._grow():
                return NO_MEMORY
            partial = self._partial or partial
        end = min(self._frame_bytes or LENGTH_BYTES, len(partial))
        missing = end - self._filled
        if end == self._frame_bytes:
            count = sock.recvmsg_into([memoryview(partial)[self._filled : end], self._shared])[0]
        else:
            count = sock.recv_into(memoryview(partial)[self._filled : end])
        self._filled += min(count, missing)
        if self._filled == LENGTH_BYTES and not self._frame_bytes:
            self._frame_bytes = self._length_at(bytes(partial[:LENGTH_BYTES]), 0)
        elif self._filled == self._frame_bytes:
            self._finish(partial, self._shared[: count - missing])
        return count

    def resume(self) -> None:
        """Handle what was held back."""
        if self._held:
            held, self._held = self._held, b""
            self._split(memoryview(held), len(held))

    def close(self) -> None:
        self._held = b""
        if self._partial is not None:
            self._pool.give_back(self._partial)
            self._partial = None

    def _split(self, view: memoryview, end: int) -> None:
        """Hand over the whole frames of `view[:end]`: the small ones as bytes, many from one copy."""
        start = 0
        while start < end:
            near = bytes(view[start : min(end, start + NEAR_BYTES)])
            size = len(near)
            position = 0
            while size - position >= LENGTH_BYTES:
                frame_bytes = self._length_at(near, position)
                frame_end = position + frame_bytes
                if frame_end <= size:
                    go_on = self._on_frame(near[position + LENGTH_BYTES : frame_end])
                elif position or start + frame_end > end:
                    break
                else:
                    go_on = self._on_frame(view[start + LENGTH_BYTES : start + frame_end])
                position = frame_end
                if not go_on:
                    self._held = bytes(view[start + position : end])
                    return
            start += position
            if position == 0:
                self._begin(view[start:end], self._length_at(near, 0) if size >= LENGTH_BYTES else 0)
                return

    def _length_at(self, content: bytes, position: int) -> int:
        """Length of the frame with its length field."""
        length: int = read_i32_be(content, position)
        if not 0 < length <= self._frame_max_bytes:
            raise BadFrame(f"frame of {length} bytes")
        return LENGTH_BYTES + length

    def _begin(self, beginning: memoryview, frame_bytes: int) -> None:
        have = len(beginning)
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
        larger = self._pool.take(min(self._frame_bytes or FIRST_BYTES, GROWTH * len(old)))
        if larger is None:
            return False
        larger[: self._filled] = memoryview(old)[: self._filled]
        self._pool.give_back(old)
        self._partial = larger
        return True

    def _finish(self, partial: bytearray, following: memoryview) -> None:
        self._partial = None
        end, self._filled, self._frame_bytes = self._frame_bytes, 0, 0
        try:
            go_on = self._on_frame(memoryview(partial)[LENGTH_BYTES:end])
        finally:
            self._pool.give_back(partial)
        if go_on:
            self._split(following, len(following))
        else:
            self._held = bytes(following)

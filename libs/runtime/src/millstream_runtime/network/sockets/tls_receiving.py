"""Bytes from one encrypted socket to whole frames: as `receiving`, with the decryption between the socket and the buffers.

All connections share one buffer for what arrives encrypted; nothing of it stays there when the next socket is read. Frames that
have begun are decrypted right into their own buffer, and everything else into the receive buffer that all connections share.
"""

import socket
import ssl
from typing import Any

from mypy_extensions import i64

from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.receiving import LENGTH_BYTES, NEAR_BYTES, NO_MEMORY, Receiver
from millstream_runtime.network.sockets.tls_session import FEED_BYTES, TlsSession


class TlsReceiver(Receiver):
    """Invariant: between two calls no ciphertext is anywhere but in the session; `has_more` says if some may be there."""

    __slots__ = ("_at", "_cipher", "_end", "_ended", "_plain", "_session", "has_more")

    def __init__(
        self,
        sock: socket.socket,
        shared: bytearray,
        pool: BufferPool,
        frame_max_bytes: int,
        session: TlsSession,
        cipher: bytearray,
    ) -> None:
        super().__init__(sock, shared, pool, frame_max_bytes)
        self._plain = memoryview(shared)
        self._session = session
        self._cipher = memoryview(cipher)
        self._at: i64 = 0  # of what arrived, up to where the session was given it
        self._end: i64 = 0
        self._ended = False  # the peer said that no more follows
        self.has_more = False
        """What arrived may have more to give: it goes before what the socket has, and so does the end."""

    @property
    def in_frame(self) -> bool:
        return self._filled > 0 or self._session.incoming.pending > 0

    def take_in(self) -> int:
        """Read from the socket, for the handshake; the bytes read. What follows the handshake is there afterwards."""
        count = self._sock.recv_into(self._cipher[:FEED_BYTES])
        if count:
            self._session.incoming.write(self._cipher[:count])
            self.has_more = self.holds_frames = True
        return count

    def receive(self) -> int:
        """As Receiver.receive; where what came is no whole record, `next_frame` has nothing."""
        fresh: i64 = 0
        if not self.has_more:
            fresh = self._sock.recv_into(self._cipher)
            if fresh == 0:
                return 0
            self._at, self._end = 0, fresh
        self.has_more = False
        try:
            count = self._decrypt()
        finally:
            self._feed_rest()
        if count == NO_MEMORY or self._ended:
            self.has_more = True
        self.holds_frames = self.has_more
        if count == 0:
            return 0 if self._ended else max(fresh, 1)
        return count

    def hold(self) -> None:
        super().hold()
        self.holds_frames = self.holds_frames or self.has_more

    def _decrypt(self) -> i64:
        total: i64 = 0
        partial = self._partial
        while partial is not None:
            if self._filled == len(partial):
                if not self._grow():
                    return total or NO_MEMORY
                partial = self._partial or partial
            end = min(self._frame_bytes or LENGTH_BYTES, len(partial))
            count = self._read(memoryview(partial)[self._filled : end])
            if count == 0:
                return total
            total += count
            self._filled += count
            if self._filled == LENGTH_BYTES and not self._frame_bytes:
                self._frame_bytes = self._length_at(bytes(partial[:LENGTH_BYTES]), 0)
            elif self._filled == self._frame_bytes:
                break
        return total + self._decrypt_shared(near=partial is None)

    def _decrypt_shared(self, *, near: bool) -> i64:
        plain = self._plain
        most: i64 = len(plain)
        filled: i64 = 0
        while filled < most:
            count = self._read(plain[filled:] if filled else plain)
            if count == 0:
                break
            filled += count
        if filled == most:
            self.has_more = True
        if near and filled <= NEAR_BYTES:
            self._near, self._near_at = bytes(plain[:filled]), 0
        else:
            self._look_at(plain[:filled], filled)
        return filled

    def _read(self, into: memoryview) -> i64:
        """What fits, of one record; 0 where there is no whole one."""
        session = self._session
        tls: Any = session.tls  # with a buffer `read` gives a number, which its declaration does not say
        incoming = session.incoming
        while True:
            if incoming.pending or tls.pending():
                try:
                    count: int = tls.read(len(into), into)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLZeroReturnError:
                    self._ended = True
                    return 0
                else:
                    if count == 0:
                        self._ended = True
                    return count
            if self._at == self._end:
                return 0
            end = min(self._end, self._at + FEED_BYTES)
            incoming.write(self._cipher[self._at : end])
            self._at = end

    def _feed_rest(self) -> None:
        if self._at < self._end:
            self._session.incoming.write(self._cipher[self._at : self._end])
            self._at = self._end
            self.has_more = True

"""Frames to one encrypted socket: as `sending`, where file slices are read instead of sent by the kernel, a bounded piece at a time.

What is encrypted must be sent in that order and no other, so no more is encrypted than the socket is about to take.
"""

import os
import socket
from typing import Final

from mypy_extensions import i64

from millstream_runtime.network.sockets.sending import GATHER_MAX, Sender, Sending, UnreadableFile
from millstream_runtime.network.sockets.tls_session import RECORD_BYTES, TlsSession

FLUSH_MAX_BYTES: Final = (
    1024 * 1024
)  # one connection's share of a tick: encrypting it takes as long as four times that by sendfile
_preadv: Final = os.preadv


class TlsSender(Sender):
    """What is encrypted and unsent is in `_cipher`; `unsent_bytes` counts it and what is still in the clear."""

    __slots__ = ("_cipher", "_scratch", "_session")

    def __init__(self, sock: socket.socket, session: TlsSession, scratch: bytearray) -> None:
        """`scratch`: for pieces of files, shared by all connections; nothing of it is kept from one call to the next."""
        super().__init__(sock)
        self._session = session
        self._scratch = memoryview(scratch)
        self._cipher: list[bytes | memoryview] = []

    @property
    def has_encrypted(self) -> bool:
        return len(self._cipher) > 0

    @property
    def _waits_for_file(self) -> bool:
        """A property, because mypy takes `loading` for what was last assigned to it in sight."""
        return self.loading is not None

    def collect(self) -> None:
        """Take what TLS itself has to say: its handshake, its alerts."""
        outgoing = self._session.outgoing
        if outgoing.pending:
            said = outgoing.read()
            self._cipher.append(said)
            self.unsent_bytes += len(said)

    def say_now(self) -> None:
        """What TLS has to say before the connection closes, if the socket takes it."""
        self.collect()
        self._send_encrypted()

    def flush(self) -> bool:
        self.loading = None
        budget: i64 = FLUSH_MAX_BYTES
        self._take_small()
        while True:
            if self._cipher and not self._send_encrypted():
                return False
            if not self._queue:
                return True
            if budget <= 0 or self._waits_for_file:
                return False
            budget -= self._encrypt_some()

    def close(self) -> None:
        super().close()
        self._cipher.clear()

    def _encrypt_some(self) -> i64:
        """Encrypt from the queue about as much as the socket takes at once, up to where a file has to be loaded."""
        queue = self._queue
        room: i64 = len(self._scratch)
        done: i64 = 0
        while queue and done < room:
            first = queue[0]
            if isinstance(first, Sending):
                self.loading = first.missing()
                if self.loading is not None:
                    return done
                count = self._read_file(first, room)
                self._encrypt(self._scratch[:count])
                if first.unsent_bytes == 0:
                    queue.pop(0)
                    first.slice.release()
            else:
                count = min(len(first), room)
                self._encrypt(memoryview(first)[:count])
                if count == len(first):
                    queue.pop(0)
                else:
                    queue[0] = memoryview(first)[count:]
            done += count
        return done

    def _read_file(self, sending: Sending, room: i64) -> i64:
        length = min(room, sending.ready_end - sending.position)
        try:
            count = _preadv(sending.slice.fileno(), [self._scratch[:length]], sending.position)
        except OSError as error:
            raise UnreadableFile(str(error)) from error
        if count == 0:
            raise UnreadableFile(f"{sending.unsent_bytes} bytes of a file slice are not there")
        sending.position += count
        sending.unsent_bytes -= count
        return count

    def _encrypt(self, content: memoryview) -> None:
        tls, outgoing, cipher = self._session.tls, self._session.outgoing, self._cipher
        end: i64 = len(content)
        at: i64 = 0
        made: i64 = 0
        while at < end:
            at += tls.write(content[at : min(end, at + RECORD_BYTES)])
            record = outgoing.read()
            cipher.append(record)
            made += len(record)
        self.unsent_bytes += made - end

    def _send_encrypted(self) -> bool:
        """Whether the socket took all of it."""
        cipher = self._cipher
        while cipher:
            try:
                sent = self._sock.send(cipher[0]) if len(cipher) == 1 else self._sock.sendmsg(cipher[:GATHER_MAX])
            except (BlockingIOError, InterruptedError):
                return False
            self.unsent_bytes -= sent
            whole = 0
            left = sent
            for each in cipher:
                if left < len(each):
                    if left:
                        cipher[whole] = memoryview(each)[left:]
                    break
                left -= len(each)
                whole += 1
            del cipher[:whole]
        return True

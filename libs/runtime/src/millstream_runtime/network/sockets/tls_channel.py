"""One encrypted connection: a handshake, then what every connection does.

Its user meets it once the handshake is done: who never finishes one costs a socket and little else, and for a bounded time.
"""

import asyncio
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress

from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.network.frames import Frame
from millstream_runtime.network.links import Accept, Limits, Unwelcome, Wrap
from millstream_runtime.network.sockets.channel import SocketChannel
from millstream_runtime.network.sockets.disk_threads import DiskThreads
from millstream_runtime.network.sockets.handshakes import HANDSHAKE_TIMEOUT_MS, HandshakeFailed, Handshakes, Turns
from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.tls_receiving import TlsReceiver
from millstream_runtime.network.sockets.tls_sending import TlsSender
from millstream_runtime.network.sockets.tls_session import TlsSession

logger = logging.getLogger(__name__)


class TlsChannel(SocketChannel):
    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        limits: Limits,
        shared: bytearray,
        pool: BufferPool,
        disk_threads: DiskThreads,
        forget: Callable[[SocketChannel], None],
        wrap: Wrap,
        cipher: bytearray,
        turns: Turns,
        handshakes: Handshakes | None,
    ) -> None:
        """`cipher`: a buffer that all connections share. `handshakes`: those of the listener; None where we are the client."""
        super().__init__(sock, peer, limits, shared, pool, disk_threads, forget)
        session = TlsSession(wrap)
        self._session = session
        self._tls_receiver = TlsReceiver(sock, shared, pool, limits.frame_max_bytes, session, cipher)
        self._tls_sender = TlsSender(sock, session, cipher)
        self._receiver, self._sender = self._tls_receiver, self._tls_sender
        self._turns = turns
        self._handshakes = handshakes
        self._shaking = True
        self._waits_for_turn = False
        self._has_begun = False
        self._began_at_ms = int(self._loop.time() * 1000)
        self.settled: asyncio.Future[None] | None = None
        """Where we are the client: done once the handshake is, one way or the other."""

    def start(self, use: Accept) -> None:
        self._use = use
        self._user = _Nobody()
        if self._handshakes is not None:
            self._handshakes.begin(self)
            self._update_reading()
        else:
            self.settled = self._loop.create_future()
            self._ask_for_turn()

    def shake_hands(self) -> None:
        self._waits_for_turn = False
        if self._closed:
            return
        try:
            done = self._step()
        except ssl.SSLError as error:
            self._fail(reason_of(error))
        except (OSError, ValueError) as failed:  # a name that cannot be a host's is a ValueError
            self._fail(getattr(failed, "strerror", None) or str(failed))
        else:
            self._tls_sender.collect()
            self._flush()
            if done and not self._closed:
                self._finish()
        self._update_reading()

    def give_way(self) -> None:
        self._fail("too many others are under way")

    def close(self, reason: str = "closed here") -> None:
        if self._closed:
            return
        if self._shaking:
            self._end_handshake(HandshakeFailed(reason))
        elif not self._tls_sender.has_encrypted:
            self._say_goodbye()
        super().close(reason)

    def sweep(self, now_ms: int) -> bool:
        if not self._shaking or self._closed:
            return super().sweep(now_ms)
        if now_ms - self._began_at_ms > HANDSHAKE_TIMEOUT_MS:
            self._fail("not finished in time")
        return False

    # ---- the handshake ----

    def _step(self) -> bool:
        """Whether the handshake is done."""
        if self._has_begun or self._handshakes is not None:
            try:
                count = self._tls_receiver.take_in()
            except (BlockingIOError, InterruptedError):
                return False
            if count == 0:
                raise ConnectionResetError(errno.ECONNRESET, "closed by the peer")
        self._has_begun = True
        try:
            self._session.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _finish(self) -> None:
        if self._handshakes is not None and _came_back_with_what_has_expired(self._session.tls):
            self._fail("CERTIFICATE_VERIFY_FAILED: certificate has expired since its session began")
            return
        self.certificate = self._session.tls.getpeercert(binary_form=True)
        self._moved = True
        try:
            self._user = self._use(self)
        except Unwelcome as error:
            self._fail(str(error))
            return
        except BaseException:
            self.close("not taken in")
            raise
        self._end_handshake(None)

    def _end_handshake(self, failure: OSError | None) -> None:
        self._shaking = False
        if self._handshakes is not None:
            self._handshakes.end(self)
        settled = self.settled
        if settled is not None and not settled.done():
            if failure is None:
                settled.set_result(None)
            else:
                settled.set_exception(failure)

    def _fail(self, reason: str) -> None:
        if self._handshakes is not None and self._has_begun:  # who only looks whether anybody listens says nothing
            self._handshakes.on_failed(self.peer, reason)
        self._say_last_words()
        self.close(f"TLS handshake failed: {reason}")

    def _ask_for_turn(self) -> None:
        if not self._waits_for_turn:
            self._waits_for_turn = True
            self._turns.ask(self)

    # ---- what differs from a plain connection ----

    def _update_reading(self) -> None:
        if self._shaking:
            self._read_or_not(not self._closed and not self._waits_for_turn)
        else:
            super()._update_reading()

    def _on_readable(self) -> None:
        if self._shaking:
            self._ask_for_turn()
            self._update_reading()
        else:
            super()._on_readable()

    def _receive(self) -> None:
        super()._receive()
        if not self._closed:
            self._tls_sender.collect()

    def _go_on(self) -> None:
        super()._go_on()
        if self._tls_receiver.has_more and not self._closed and self._may_read():
            self._receive()

    def _broke(self, error: OSError) -> None:
        if isinstance(error, ssl.SSLError):
            logger.info("connection closed peer=%s reason=tls detail=%s", self.peer, reason_of(error).replace(" ", "_"))
            self._say_last_words()
            self.close(f"TLS: {reason_of(error)}")
        else:
            super()._broke(error)

    def _say_goodbye(self) -> None:
        """So that the peer knows that nothing was cut off; it is not waited for."""
        with suppress(ssl.SSLError):  # it wants to hear the peer's, or the connection was broken before
            self._session.tls.unwrap()
        self._say_last_words()

    def _say_last_words(self) -> None:
        with suppress(OSError):  # nobody listens any more
            self._tls_sender.say_now()


class _Nobody(ChannelUser):
    """While the handshake is under way."""

    def on_frame(self, frame: Frame) -> None:
        raise AssertionError("no frame comes before the handshake is done")

    def on_closed(self, reason: str) -> None:
        """Whoever waits for the handshake is told by it."""


def _came_back_with_what_has_expired(tls: ssl.SSLObject) -> bool:
    """OpenSSL looks at no certificate where a session is resumed; what is trusted is as it was then, or it would not be resumed."""
    certificate = tls.getpeercert() if tls.session_reused else None
    ends = certificate.get("notAfter") if certificate else None
    return isinstance(ends, str) and ssl.cert_time_to_seconds(ends) < time.time()


def reason_of(error: ssl.SSLError) -> str:
    """What OpenSSL calls it, and why where it is about a certificate."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.reason}: {error.verify_message}"
    return str(error.reason or error.strerror or error)

"""One connection on the event loop: reads when it may, sends once per tick, closes for good reasons only once."""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence

from millstream_runtime.network.channel import Channel
from millstream_runtime.network.frames import Part
from millstream_runtime.network.links import Accept, Limits
from millstream_runtime.network.sockets.disk_threads import DiskThreads
from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.receiving import NO_MEMORY, BadFrame, Receiver
from millstream_runtime.network.sockets.sending import Sender, UnreadableFile

logger = logging.getLogger(__name__)

STALLED_MS = 5_000  # how long half a frame may hold memory that others wait for while none of it arrives


class SocketChannel(Channel):
    """Over a connected non-blocking socket, which it owns."""

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        limits: Limits,
        shared: bytearray,
        pool: BufferPool,
        disk_threads: DiskThreads,
        forget: Callable[["SocketChannel"], None],
    ) -> None:
        super().__init__(peer)
        self._sock = sock
        self._limits = limits
        self._unsent_max_bytes = limits.unsent_max_bytes
        self._pool = pool
        self._disk_threads = disk_threads
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._receiver = Receiver(sock, shared, pool, limits.frame_max_bytes)
        self._sender = Sender(sock)
        self._closed = False
        self._reading = False  # registered with the loop
        self._paused = False  # by our user
        self._starved = False  # no memory for the frame under way
        self._receiving = False  # inside a receive: sending waits for its end
        self._resume_due = False
        self._flush_due = False
        self._writing = False  # waiting until the socket takes more, or until a file is in memory
        self._moved = True  # since the last sweep
        self._moved_at_ms = 0
        self._frame_since_ms = 0

    def start(self, use: Accept) -> None:
        self._user = use(self)
        self._update_reading()

    @property
    def closed(self) -> bool:
        return self._closed

    def send(self, parts: Sequence[Part]) -> None:
        self._sender.put(parts)
        self._flush_soon()

    def send_small(self, content: bytes) -> None:
        self._sender.put_small(content)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._closed:
            self._sender.close()
        elif not self._receiving and not self._flush_due and not self._writing:
            self._flush_due = True
            self._loop.call_soon(self._flush_and_go_on)

    def pause_reading(self) -> None:
        self._paused = True
        self._update_reading()

    def resume_reading(self) -> None:
        self._paused = False
        self._update_reading()

    def limit_frames(self, frame_max_bytes: int) -> None:
        self._receiver.limit(frame_max_bytes)

    def close(self, reason: str = "closed here") -> None:
        if self._closed:
            return
        self._closed = True
        if self._reading:
            self._loop.remove_reader(self._sock)
        if self._writing:
            self._loop.remove_writer(self._sock)
        self._sock.close()
        if self._starved:
            self._pool.stop_waiting(self._fed)
        self._receiver.close()
        self._sender.close()
        self._forget(self)
        self._loop.call_soon(self._user.on_closed, reason)

    def sweep(self, now_ms: int) -> bool:
        """Close if nothing moved for too long, or a frame takes too long to arrive; whether it was closed as idle."""
        if self._closed:
            return False
        if self._moved:
            self._moved = False
            self._moved_at_ms = now_ms
        elif now_ms - self._moved_at_ms > self._limits.connections_max_idle_ms:
            self.close("idle")
            return True
        if not self._receiver.in_frame:
            self._frame_since_ms = 0
        elif now_ms - self._moved_at_ms > STALLED_MS and self._pool.must_shed(now_ms):
            logger.info("connection closed peer=%s reason=frame_stalled detail=others_wait_for_the_memory", self.peer)
            self.close("a frame stalled while memory was short")
        elif not self._reading:
            self._frame_since_ms = 0
        elif not self._frame_since_ms:
            self._frame_since_ms = now_ms
        elif now_ms - self._frame_since_ms > self._frame_timeout_ms():
            logger.info("connection closed peer=%s reason=frame_timeout", self.peer)
            self.close("a frame did not arrive in time")
        return False

    def _frame_timeout_ms(self) -> int:
        wanted = self._limits.frame_timeout_ms + (self._receiver.frame_bytes >> 20) * 1000
        return min(wanted, self._limits.connections_max_idle_ms)

    def _may_read(self) -> bool:
        return not (self._paused or self._starved or self._sender.unsent_bytes > self._unsent_max_bytes)

    def _update_reading(self) -> None:
        may = not self._closed and self._may_read()
        holds = self._receiver.holds_frames
        if may and holds and not self._resume_due:
            self._resume_due = True
            self._loop.call_soon(self._resume)
        self._read_or_not(may and not holds)

    def _read_or_not(self, wanted: bool) -> None:
        if wanted and not self._reading:
            self._reading = True
            self._loop.add_reader(self._sock, self._on_readable)
        elif not wanted and self._reading and not self._closed:
            self._reading = False
            self._loop.remove_reader(self._sock)

    def _on_readable(self) -> None:
        self._guarded(resumes=False)

    def _resume(self) -> None:
        self._resume_due = False
        if not self._closed and self._may_read():
            self._guarded(resumes=True)

    def _receive(self) -> None:
        try:
            count = self._receiver.receive()
        except (BlockingIOError, InterruptedError):
            return
        if count == 0:
            self.close("closed by the peer")
        elif count == NO_MEMORY:
            self._starved = True
            self._pool.wait(self._fed)
        else:
            self._moved = True
            self._hand_over()

    def _hand_over(self) -> None:
        """Give our user every frame that is whole, for as long as it takes them."""
        receiver, user = self._receiver, self._user
        while (frame := receiver.next_frame()) is not None:
            self._frame_since_ms = 0
            user.on_frame(frame)
            if self._closed or not self._may_read():
                receiver.hold()
                return

    def _go_on(self) -> None:
        """With what was held back."""
        self._receiver.resume()
        self._hand_over()

    def _broke(self, error: OSError) -> None:
        self.close(error.strerror or str(error))

    def _fed(self) -> None:
        self._starved = False
        self._update_reading()

    def _guarded(self, *, resumes: bool) -> None:
        """Receive, or go on with what was held back; then send what it led to, at once."""
        self._receiving = True
        try:
            if resumes:
                self._go_on()
            else:
                self._receive()
        except BadFrame as bad:
            logger.info("connection closed peer=%s reason=%s", self.peer, str(bad).replace(" ", "_"))
            self.close(str(bad))
        except OSError as error:
            self._broke(error)
        except BaseException:
            self.close("a frame was not handled")  # and what follows it would not be found
            raise
        finally:
            self._receiving = False
        if not self._closed:
            if self._sender.unsent_bytes and not self._writing:
                self._flush()
            self._update_reading()

    def _flush(self) -> None:
        self._flush_due = False
        if self._closed:
            return
        try:
            done = self._sender.flush()
        except UnreadableFile as unreadable:
            logger.error("connection closed peer=%s reason=unreadable_file detail=%s", self.peer, unreadable)
            self.close(str(unreadable))
            return
        except OSError as error:
            self._broke(error)
            return
        self._moved = True
        if done:
            if self._writing:
                self._writing = False
                self._loop.remove_writer(self._sock)
        elif self._sender.loading is not None:
            if self._writing:
                self._loop.remove_writer(self._sock)
            self._writing = True
            self._disk_threads.run(self._sender.loading, self._loaded)
        elif not self._writing:
            self._writing = True
            self._loop.add_writer(self._sock, self._flush_and_go_on)

    def _loaded(self, error: BaseException | None) -> None:
        self._writing = False
        if error is not None and not self._closed:
            logger.error("connection closed peer=%s reason=unreadable_file detail=%s", self.peer, error)
            self.close(str(error))
        else:
            self._flush_and_go_on()

    def _flush_and_go_on(self) -> None:
        self._flush()
        self._update_reading()

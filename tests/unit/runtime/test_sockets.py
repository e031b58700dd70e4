"""Frames over real sockets, whatever way the bytes arrive: split, joined, large, from files, garbage, slow."""

import asyncio
import errno
import os
import resource
import socket
import struct
import threading
from collections.abc import Callable

import pytest

from millstream_log.file_slice import FileSlice, SegmentFile
from millstream_runtime.network import Limits
from millstream_runtime.sockets.channel import SocketChannel
from millstream_runtime.sockets.network import SocketNetwork
from millstream_runtime.sockets.pool import BufferPool

TIMEOUT_SECONDS = 30


class Slice(FileSlice):
    """The log's own, which says whether it was let go of."""

    @property
    def released(self) -> bool:
        return self._file is None


class ColdSlice(Slice):
    """One whose file is on a disk that takes as long as the test says."""

    def __init__(self, file: SegmentFile, position: int, length: int, arrived: threading.Event) -> None:
        super().__init__(file, position, length)
        self._arrived = arrived
        self.loads: list[tuple[int, int]] = []

    def read_resident(self) -> None:
        return None

    def is_resident(self, position: int) -> bool:
        return self._arrived.is_set()

    def loading(self, position: int, length: int) -> Callable[[], None]:
        self.loads.append((position, length))

        def wait() -> None:
            assert self._arrived.wait(TIMEOUT_SECONDS)

        return wait


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(TIMEOUT_SECONDS * 100):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to hold")


class Echo:
    def __init__(self, channel: SocketChannel) -> None:
        self.channel = channel
        self.closed: list[str] = []

    def on_frame(self, frame: memoryview) -> None:
        self.channel.send([bytes(frame)])

    def on_closed(self, reason: str) -> None:
        self.closed.append(reason)


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


class Harness:
    """A listener, and plain asyncio streams as its peers."""

    def __init__(self, user=Echo, **limits) -> None:
        self.user, self.limits = user, Limits(**limits)
        self.users: list = []
        self.network = SocketNetwork()

    async def __aenter__(self) -> "Harness":
        def accept(channel):
            self.users.append(self.user(channel))
            return self.users[-1]

        self.listener = await self.network.listen("127.0.0.1", 0, accept, limits=self.limits)
        return self

    async def __aexit__(self, *_) -> None:
        self.listener.close()
        for user in self.users:
            user.channel.close()

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.listener.port)


async def read_frame(reader) -> bytes:
    (size,) = struct.unpack(">i", await asyncio.wait_for(reader.readexactly(4), 10))
    return await asyncio.wait_for(reader.readexactly(size), 10)


async def ends(reader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionResetError:
        return True


def contents() -> list[bytes]:
    sizes = [1, 100, 70_000, 300_000, 3, 2_500_000, 9, 262_140, 262_144, 5_000_001, 2]
    return [bytes([65 + index]) * size for index, size in enumerate(sizes)]


@pytest.mark.parametrize("chunk", [None, 1 << 20, 65_537, 999])
def test_frames_arrive_whole_however_they_are_cut(chunk: int | None) -> None:
    async def scenario() -> None:
        async with Harness() as harness:
            reader, writer = await harness.connect()
            sent = contents() if chunk != 999 else contents()[:4]
            stream = b"".join(map(framed, sent))

            async def send() -> None:
                for start in range(0, len(stream), chunk or len(stream)):
                    writer.write(stream[start : start + (chunk or len(stream))])
                    await writer.drain()
                    if chunk == 999:
                        await asyncio.sleep(0)

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(send())
                for content in sent:
                    assert await read_frame(reader) == content
            writer.close()

    asyncio.run(scenario())


def test_single_bytes_make_a_frame() -> None:
    async def scenario() -> None:
        async with Harness() as harness:
            reader, writer = await harness.connect()
            for byte in framed(b"hello") + framed(b"you"):
                writer.write(bytes([byte]))
                await asyncio.sleep(0.002)
            assert await read_frame(reader) == b"hello"
            assert await read_frame(reader) == b"you"
            writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", 0) + b"x"])
def test_a_senseless_length_closes_with_one_line(garbage: bytes, caplog) -> None:
    caplog.set_level("INFO")

    async def scenario() -> None:
        async with Harness(frame_max_bytes=1_000_000) as harness:
            reader, writer = await harness.connect()
            writer.write(garbage)
            assert await ends(reader)
            writer.close()

    asyncio.run(scenario())
    assert len(caplog.records) == 1


def test_file_slices_are_sent_in_order_and_released(tmp_path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "segment").write_bytes(content)

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            self.slices = [Slice(file, 10, 100), Slice(file, 1000, 2_500_000), Slice(file, 5, 80_000)]
            self.channel.send([b"head", self.slices[0], b"middle", self.slices[1], self.slices[2], b"tail"])
            self.channel.send([b"next"])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            reader, writer = await harness.connect()
            writer.write(framed(b"go"))
            expected = b"head" + content[10:110] + b"middle" + content[1000:2_501_000] + content[5:80_005] + b"tail"
            await asyncio.sleep(0.1)  # the socket is full before we read
            assert await read_frame(reader) == expected
            assert await read_frame(reader) == b"next"
            assert all(each.released for each in harness.users[0].slices)
            writer.close()

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())


def test_slices_are_released_when_the_connection_dies(tmp_path) -> None:
    (tmp_path / "segment").write_bytes(bytes(20_000_000))

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            self.slice = Slice(file, 0, 20_000_000)
            self.channel.send([self.slice])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            _, writer = await harness.connect()
            writer.write(framed(b"go"))
            await asyncio.sleep(0.1)
            server = harness.users[0]
            assert not server.slice.released
            writer.transport.abort()
            await asyncio.sleep(0.1)
            assert server.slice.released
            assert len(server.closed) == 1

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())


@pytest.mark.parametrize("size", [100, 2_500_000])
def test_what_is_not_in_memory_is_waited_for_in_a_thread_and_others_go_on(tmp_path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "segment").write_bytes(content)
    arrived = threading.Event()

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            if bytes(frame) != b"read":
                super().on_frame(frame)
                return
            self.slice = ColdSlice(file, 0, size, arrived)
            self.channel.send([b"head", self.slice, b"tail"])
            self.channel.send([b"next"])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            (reader, writer), (other, to_other) = await harness.connect(), await harness.connect()
            writer.write(framed(b"read"))
            await until(lambda: bool(harness.users) and hasattr(harness.users[0], "slice"))
            for n in range(20):
                to_other.write(framed(b"%d" % n))
                assert await read_frame(other) == b"%d" % n
            piece = harness.users[0].slice
            assert piece.loads == [(0, min(size, 1 << 20))]
            assert not piece.released
            arrived.set()
            assert await read_frame(reader) == b"head" + content + b"tail"
            assert await read_frame(reader) == b"next"
            assert piece.released
            writer.close()
            to_other.close()

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())


def test_a_connection_may_die_while_its_slice_is_loaded(tmp_path) -> None:
    (tmp_path / "segment").write_bytes(bytes(100_000))
    arrived = threading.Event()

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            self.slice = ColdSlice(file, 0, 100_000, arrived)
            self.channel.send([self.slice])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            _, writer = await harness.connect()
            writer.write(framed(b"go"))
            await until(lambda: bool(harness.users) and hasattr(harness.users[0], "slice"))
            writer.transport.abort()
            server = harness.users[0]
            await until(lambda: bool(server.closed))
            assert server.slice.released
            arrived.set()
            await asyncio.sleep(0.05)
            assert len(server.closed) == 1

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())


def test_a_file_that_cannot_be_read_closes_its_connection(tmp_path, caplog) -> None:
    (tmp_path / "segment").write_bytes(bytes(100_000))

    class Unreadable(ColdSlice):
        def loading(self, position: int, length: int) -> Callable[[], None]:
            def fail() -> None:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

            return fail

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            self.channel.send([Unreadable(file, 0, 100_000, threading.Event())])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            reader, writer = await harness.connect()
            writer.write(framed(b"go"))
            assert len(await asyncio.wait_for(reader.read(), TIMEOUT_SECONDS)) == 4
            writer.close()

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())
    assert caplog.text.count("unreadable_file") == 1


def test_a_file_shorter_than_its_slice_closes_the_connection(tmp_path, caplog) -> None:
    (tmp_path / "segment").write_bytes(bytes(100_000))

    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            self.slice = Slice(file, 0, 200_000)
            self.channel.send([self.slice])

    async def scenario() -> None:
        async with Harness(Server) as harness:
            reader, writer = await harness.connect()
            writer.write(framed(b"go"))
            assert len(await asyncio.wait_for(reader.read(), 5)) == 100_004
            assert harness.users[0].slice.released
            writer.close()

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())
    assert "unreadable_file" in caplog.text


def test_who_does_not_read_is_not_read() -> None:
    class Server(Echo):
        frames = 0

        def on_frame(self, frame: memoryview) -> None:
            self.frames += 1
            self.channel.send([bytes(1_000_000)])

    async def scenario() -> None:
        async with Harness(Server, unsent_max_bytes=2_000_000) as harness:
            reader, writer = await harness.connect()
            writer.write(framed(b"x") * 100)
            await asyncio.sleep(0.3)
            server = harness.users[0]
            assert server.frames < 50
            assert server.channel.unsent_bytes < 4_000_000
            for _ in range(100):
                assert len(await read_frame(reader)) == 1_000_000
            assert server.frames == 100
            writer.close()

    asyncio.run(scenario())


def test_connections_have_the_buffers_of_their_listener() -> None:
    async def scenario() -> None:
        async with Harness(send_buffer_bytes=20_000, receive_buffer_bytes=30_000) as harness:
            reader, writer = await harness.connect()
            writer.write(framed(b"accepted"))
            assert await read_frame(reader) == b"accepted"
            sock = harness.users[0].channel._sock
            # The kernel counts its own bookkeeping too, and says twice of what it was told.
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 40_000
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 60_000
            writer.close()

    asyncio.run(scenario())


def test_connections_beyond_the_limit_are_refused_once_logged(caplog) -> None:
    async def scenario() -> None:
        async with Harness(connections_max=1) as harness:
            reader, writer = await harness.connect()
            for _ in range(3):
                refused, other = await harness.connect()
                assert await ends(refused)
                other.close()
            writer.write(framed(b"still here"))
            assert await read_frame(reader) == b"still here"
            writer.close()
            await asyncio.sleep(0.05)
            reader, writer = await harness.connect()
            writer.write(framed(b"free again"))
            assert await read_frame(reader) == b"free again"
            writer.close()

    asyncio.run(scenario())
    assert caplog.text.count("connections refused") == 1


def test_connections_from_one_address_have_a_limit_of_their_own(caplog) -> None:
    async def scenario() -> None:
        async with Harness(connections_per_ip_max=1) as harness:
            _, first = await harness.connect()
            for _ in range(2):
                refused, other = await harness.connect()
                assert await ends(refused)
                other.close()
            reader, elsewhere = await asyncio.open_connection(
                "127.0.0.1", harness.listener.port, local_addr=("127.0.0.2", 0)
            )
            elsewhere.write(framed(b"another address"))
            assert await read_frame(reader) == b"another address"
            first.close()
            await asyncio.sleep(0.05)
            reader, again = await harness.connect()
            again.write(framed(b"free again"))
            assert await read_frame(reader) == b"free again"
            again.close()
            elsewhere.close()

    asyncio.run(scenario())
    assert "reason=max.connections.per.ip" in caplog.text


def test_descriptors_are_kept_for_files(caplog) -> None:
    async def scenario() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        async with Harness() as harness:
            reader, writer = await harness.connect()
            held = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]
            # The next descriptors are within the limit, but in the part of it that sockets do not get.
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 6, hard))
            try:
                for _ in range(2):
                    refused, other = await harness.connect()
                    assert await ends(refused)
                    other.close()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                for descriptor in held:
                    os.close(descriptor)
            writer.write(framed(b"still here"))
            assert await read_frame(reader) == b"still here"
            writer.close()
            await asyncio.sleep(0.05)
            reader, writer = await harness.connect()
            writer.write(framed(b"free again"))
            assert await read_frame(reader) == b"free again"
            writer.close()

    asyncio.run(scenario())
    assert caplog.text.count("connections refused") == 1
    assert "reason=file_descriptors" in caplog.text


def test_with_no_descriptor_left_accepting_pauses_and_goes_on(caplog, monkeypatch) -> None:
    monkeypatch.setattr("millstream_runtime.sockets.network.NO_DESCRIPTORS_PAUSE_SECONDS", 0.2)

    async def scenario() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        async with Harness() as harness:
            reader, writer = await harness.connect()
            with socket.socket() as waiting:
                waiting.setblocking(False)
                lowest_free = os.dup(waiting.fileno())
                os.close(lowest_free)
                resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
                try:
                    await asyncio.get_running_loop().sock_connect(waiting, ("127.0.0.1", harness.listener.port))
                    await until(lambda: "EMFILE" in caplog.text)
                    for n in range(20):
                        writer.write(framed(b"%d" % n))
                        assert await read_frame(reader) == b"%d" % n
                        await asyncio.sleep(0.02)
                    assert len(harness.users) == 1
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                await until(lambda: len(harness.users) == 2)
            writer.close()

    asyncio.run(scenario())
    assert caplog.text.count("connections refused") == 1


def test_half_a_frame_gives_way_when_nobody_has_the_memory_to_go_on(monkeypatch, caplog) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("millstream_runtime.sockets.network.SWEEP_SECONDS", 0.05)
    monkeypatch.setattr("millstream_runtime.sockets.channel.STALLED_MS", 200)
    monkeypatch.setattr("millstream_runtime.sockets.pool.SHED_INTERVAL_MS", 500)

    async def scenario() -> None:
        async with Harness() as harness:
            harness.network._pool = BufferPool(in_use_max_bytes=5 << 19)
            peers = [await harness.connect() for _ in range(4)]
            # Each has the beginning of a frame, and needs more memory for the rest than is left: nobody could go on.
            for _, writer in peers:
                writer.write(struct.pack(">i", 2_000_000) + bytes(1_000))
                await asyncio.sleep(0.05)
                writer.write(bytes(199_000))
            await asyncio.sleep(0.05)
            for _, writer in peers:
                writer.write(bytes(1_800_000))
            outcomes = [await outcome(reader) for reader, _ in peers]
            assert outcomes.count(2_000_000) >= 1
            assert set(outcomes) <= {2_000_000, 0}
            for _, writer in peers:
                writer.close()

    async def outcome(reader: asyncio.StreamReader) -> int:
        try:
            return len(await read_frame(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0

    asyncio.run(scenario())
    assert "frame_stalled" in caplog.text


def test_a_frame_that_never_ends_and_an_idle_connection_are_closed(monkeypatch) -> None:
    monkeypatch.setattr("millstream_runtime.sockets.network.SWEEP_SECONDS", 0.05)

    async def scenario() -> None:
        async with Harness(frame_timeout_ms=200, connections_max_idle_ms=600) as harness:
            slow_reader, slow = await harness.connect()
            idle_reader, idle = await harness.connect()

            async def drip() -> None:
                slow.write(struct.pack(">i", 1000))
                while not slow.is_closing():
                    slow.write(b"x")
                    await asyncio.sleep(0.02)

            dripping = asyncio.create_task(drip())
            started = asyncio.get_running_loop().time()
            assert await ends(slow_reader)
            assert asyncio.get_running_loop().time() - started < 0.5
            assert await ends(idle_reader)
            dripping.cancel()
            slow.close()
            idle.close()

    asyncio.run(scenario())


def test_an_address_in_use_is_an_error() -> None:
    async def scenario() -> None:
        async with Harness() as harness:
            with pytest.raises(OSError, match="in use"):
                await harness.network.listen("127.0.0.1", harness.listener.port, Echo)

    asyncio.run(scenario())


def test_nobody_listening_is_refused() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as placeholder:
            port = placeholder.getsockname()[1]
        with pytest.raises(ConnectionRefusedError):
            await SocketNetwork().connect("127.0.0.1", port, Echo)

    asyncio.run(scenario())

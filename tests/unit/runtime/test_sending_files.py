"""Slices of files over real sockets: in order, let go of, from a slow disk, from one that fails."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable

import pytest
from socket_peers import TIMEOUT_SECONDS, Echo, Harness, framed, read_frame, until

from millstream_log.file_slice import FileSlice, SegmentFile

pytestmark = pytest.mark.usefixtures("each_channel")


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
            assert len(await asyncio.wait_for(reader.read(), 5)) <= 100_004  # encrypted, nothing has left yet
            assert harness.users[0].slice.released
            writer.close()

    file = SegmentFile(tmp_path / "segment", os.O_RDONLY)
    asyncio.run(scenario())
    assert "unreadable_file" in caplog.text

"""Frames over real sockets, whatever way the bytes arrive: split, joined, large, garbage, slow."""

import asyncio
import socket
import struct

import pytest
from socket_peers import Echo, Harness, ends, framed, read_frame

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.network.sockets.receiving import NEAR_BYTES

pytestmark = pytest.mark.usefixtures("each_channel")


def contents() -> list[bytes]:
    sizes = [1, 100, 70_000, 300_000, 3, 2_500_000, 9, 262_140, 262_144, 5_000_001, 2]
    return [bytes([65 + index]) * size for index, size in enumerate(sizes)]


@pytest.mark.parametrize("chunk", [None, 1 << 20, 65_537, 999])
def test_frames_arrive_whole_however_they_are_cut(chunk: int | None) -> None:
    asyncio.run(echoes(contents() if chunk != 999 else contents()[:4], chunk))


@pytest.mark.parametrize("chunk", [None, 65_537, 4_096, 999])
def test_small_frames_and_those_that_are_just_not_arrive_whole(chunk: int | None) -> None:
    sizes = [*range(NEAR_BYTES - 12, NEAR_BYTES + 12), *[7] * 1200, *range(2 * NEAR_BYTES - 12, 2 * NEAR_BYTES + 12), 1]
    asyncio.run(echoes([bytes([65 + index % 26]) * size for index, size in enumerate(sizes)], chunk))


async def echoes(sent: list[bytes], chunk: int | None) -> None:
    async with Harness() as harness:
        reader, writer = await harness.connect()
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
            assert server.channel._sender.unsent_bytes < 4_000_000
            for _ in range(100):
                assert len(await read_frame(reader)) == 1_000_000
            assert server.frames == 100
            writer.close()

    asyncio.run(scenario())


def test_a_user_that_fails_loses_its_connection_and_nobody_elses_bytes_are_taken_for_its_own() -> None:
    class Server(Echo):
        def on_frame(self, frame: memoryview) -> None:
            if bytes(frame[:4]) == b"fail":
                raise RuntimeError("a bug")
            super().on_frame(frame)

    async def scenario() -> None:
        errors: list[dict] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with Harness(Server) as harness:
            reader, writer = await harness.connect()
            other_reader, other = await harness.connect()
            writer.write(framed(b"x" * 5000))
            assert len(await read_frame(reader)) == 5000
            writer.write(framed(b"fail") + framed(b"y" * 5000))
            assert await ends(reader)
            other.write(framed(b"z" * 6000))
            assert await read_frame(other_reader) == b"z" * 6000
            assert harness.users[0].closed == ["a frame was not handled"]
            writer.close()
            other.close()
        assert [str(each["exception"]) for each in errors] == ["a bug"]

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

"""What a listener refuses, holds back and closes, so that no peer can take more than its share."""

import asyncio
import os
import resource
import socket
import struct

import pytest
from socket_peers import Harness, ends, framed, read_frame, until

from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType
from millstream_runtime.network.sockets.pool import BufferPool


@pytest.mark.usefixtures("each_channel")
def test_connections_have_the_buffers_of_their_listener() -> None:
    async def scenario() -> None:
        async with Harness(send_buffer_bytes=20_000, receive_buffer_bytes=30_000) as harness:
            reader, writer = await harness.connect()
            await is_served(reader, writer)
            sock = harness.users[0].channel._sock
            # The kernel counts its own bookkeeping too, and says twice of what it was told.
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 40_000
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 60_000
            writer.close()

    asyncio.run(scenario())


def test_connections_beyond_the_limit_wait_in_order_until_there_is_room_once_logged(caplog) -> None:
    async def scenario() -> None:
        async with Harness(connections_max=1) as harness:
            first_reader, first = await harness.connect()
            await is_served(first_reader, first)
            waiting = [await asyncio.open_connection("127.0.0.1", harness.listener.port) for _ in range(3)]
            for n, (_, writer) in enumerate(waiting):
                writer.write(framed(b"%d" % n))
            await asyncio.sleep(0.1)
            assert len(harness.users) == 1
            for n, (reader, writer) in enumerate(waiting):
                first.close()
                assert await read_frame(reader) == b"%d" % n
                first = writer
            first.close()

    asyncio.run(scenario())
    assert caplog.text.count("connections wait") == 1
    assert "connections refused" not in caplog.text


def test_connections_that_come_too_fast_wait(caplog) -> None:
    async def scenario() -> None:
        windows = Windows(samples=2, window_ms=1_000)
        async with Harness(connection_creation_rate_max=5, quota_windows=windows) as harness:
            peers = [await harness.connect() for _ in range(5)]
            began = asyncio.get_running_loop().time()
            peers += [await harness.connect() for _ in range(2)]
            for reader, writer in peers:
                await is_served(reader, writer)
            assert 0.3 < asyncio.get_running_loop().time() - began < 10
            for _, writer in peers:
                writer.close()

    asyncio.run(scenario())
    assert "refused" not in caplog.text


def test_who_comes_too_fast_from_one_address_has_to_leave_after_a_while(caplog) -> None:
    async def scenario() -> None:
        windows = Windows(samples=2, window_ms=500)
        async with Harness(quota_windows=windows) as harness:
            quotas = harness.listener._entrance._quotas
            quotas.on_quotas({(QuotaEntity(QuotaEntityType.IP, None),): {"connection_creation_rate": 10.0}})
            began = asyncio.get_running_loop().time()
            peers = [await harness.connect() for _ in range(5)]
            reader, writer = await harness.connect()
            assert await ends(reader)
            assert 0.09 < asyncio.get_running_loop().time() - began < 10
            reader, elsewhere = await asyncio.open_connection(
                "127.0.0.1", harness.listener.port, local_addr=("127.0.0.2", 0)
            )
            await is_served(reader, elsewhere)
            for reader, served in peers:
                await is_served(reader, served)
                served.close()
            writer.close()
            elsewhere.close()

    asyncio.run(scenario())
    assert "reason=connection_creation_rate" in caplog.text


def test_connections_from_one_address_have_a_limit_of_their_own(caplog) -> None:
    async def scenario() -> None:
        async with Harness(connections_per_ip_max=1) as harness:
            _, first = await harness.connect()
            await are_refused(harness, 2)
            reader, elsewhere = await asyncio.open_connection(
                "127.0.0.1", harness.listener.port, local_addr=("127.0.0.2", 0)
            )
            await is_served(reader, elsewhere)
            first.close()
            await asyncio.sleep(0.05)
            reader, again = await harness.connect()
            await is_served(reader, again)
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
                await are_refused(harness, 2)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                for descriptor in held:
                    os.close(descriptor)
            await makes_room(harness, reader, writer)

    asyncio.run(scenario())
    assert caplog.text.count("connections refused") == 1
    assert "reason=file_descriptors" in caplog.text


def test_with_no_descriptor_left_accepting_pauses_and_goes_on(caplog, monkeypatch) -> None:
    monkeypatch.setattr("millstream_runtime.network.sockets.network.NO_DESCRIPTORS_PAUSE_SECONDS", 0.2)

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


@pytest.mark.usefixtures("each_channel")
def test_half_a_frame_gives_way_when_nobody_has_the_memory_to_go_on(monkeypatch, caplog) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("millstream_runtime.network.sockets.network.SWEEP_SECONDS", 0.05)
    monkeypatch.setattr("millstream_runtime.network.sockets.channel.STALLED_MS", 200)
    monkeypatch.setattr("millstream_runtime.network.sockets.pool.SHED_INTERVAL_MS", 500)

    async def scenario() -> None:
        async with Harness() as harness:
            harness.network._pool = BufferPool(in_use_max_bytes=(5 << 19) - 1)
            peers = [await harness.connect() for _ in range(4)]
            # Each has the beginning of a frame, and needs more memory for the rest than is left: nobody could go on.
            for _, writer in peers:
                writer.write(struct.pack(">i", 2_000_000) + bytes(1_000))
                await asyncio.sleep(0.05)
                writer.write(bytes(99_000))
            await asyncio.sleep(0.05)
            for _, writer in peers:
                writer.write(bytes(1_900_000))
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


@pytest.mark.usefixtures("each_channel")
def test_a_frame_that_never_ends_and_an_idle_connection_are_closed(monkeypatch) -> None:
    monkeypatch.setattr("millstream_runtime.network.sockets.network.SWEEP_SECONDS", 0.05)

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


async def is_served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(framed(b"echo"))
    assert await read_frame(reader) == b"echo"


async def are_refused(harness: Harness, count: int) -> None:
    for _ in range(count):
        reader, writer = await harness.connect()
        assert await ends(reader)
        writer.close()


async def makes_room(harness: Harness, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """It is served although others were refused; once it is gone another is."""
    await is_served(reader, writer)
    writer.close()
    await asyncio.sleep(0.05)
    reader, writer = await harness.connect()
    await is_served(reader, writer)
    writer.close()

"""A node that clients reach through one forwarded TCP port only, as behind a published port, a tunnel or `kubectl port-forward`."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import servers

CHUNK_BYTES = 1 << 16


class Forwarder:
    """Passes connections on to one port, and counts them; nothing else of the node can be reached by what clients are told."""

    def __init__(self, port: int, target_port: int) -> None:
        self._port = port
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self.address = f"127.0.0.1:{port}"
        self.connections = 0

    def __enter__(self) -> "Forwarder":
        self._thread.start()
        assert self._listening.wait(10), "the forwarder does not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        server = await asyncio.start_server(self._forward, "127.0.0.1", self._port)
        self._listening.set()
        await self._stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        to_node = None
        try:
            from_node, to_node = await asyncio.open_connection("127.0.0.1", self._target_port)
            ways = [asyncio.ensure_future(_copy(reader, to_node)), asyncio.ensure_future(_copy(from_node, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            writer.close()
            if to_node is not None:
                to_node.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


@contextlib.contextmanager
def node_behind_one_port(directory: Path) -> Iterator[Forwarder]:
    """The node is ready before anything answers at the address that it advertises: its own roles do not need it."""
    target, port = servers.free_port(), servers.free_port()
    with (
        servers.node(directory, f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}", port=target),
        Forwarder(port, target) as forwarder,
    ):
        yield forwarder

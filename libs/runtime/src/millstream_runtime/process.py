"""One operating-system process: its log, its signals, its services until somebody says stop."""

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import uvloop

from millstream_runtime.builds import records_build, refuse_stale
from millstream_runtime.http import serve_http
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.service import Service, ServiceFailed
from millstream_runtime.world import RealWorld, World

logger = logging.getLogger(__name__)

SHUTDOWN_TIMEOUT_MS = 30_000
EXIT_FAILED = 1


def configure_logging(level: str = "INFO") -> None:
    """Log one line per event to stderr: `time level event key=value`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def run_services(
    build: Callable[[World], Sequence[Service]],
    *,
    http_address: tuple[str, int] | None,
    on_ready: Callable[[], None] = lambda: None,
    shutdown_timeout_ms: int = SHUTDOWN_TIMEOUT_MS,
) -> int:
    """Run until SIGTERM or SIGINT, shut down cleanly within the timeout (the same signal again: at once); the exit code.

    The services start together and stop one by one, the last of the list first. One that ends ends the process.
    """
    # What has been imported stays: the collector need not look at it again and again.
    gc.freeze()
    gc.enable()
    _raise_descriptor_limit()
    try:
        refuse_stale()
    except ServiceFailed as error:
        logger.error("process stops reason=%s", error)
        return EXIT_FAILED
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_Process(build, http_address, on_ready, shutdown_timeout_ms).run())


def _raise_descriptor_limit() -> None:
    """Take as many file descriptors as we may: what shells give by default is less than a broker's clients and segments need."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _OneLine(logging.Formatter):
    """What clients send may be in a message: it cannot make a line of its own."""

    converter = time.gmtime  # type: ignore[assignment]

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\\n").replace("\r", "\\r")


class _Process:
    def __init__(
        self,
        build: Callable[[World], Sequence[Service]],
        http_address: tuple[str, int] | None,
        on_ready: Callable[[], None],
        shutdown_timeout_ms: int,
    ) -> None:
        self._build = build
        self._http_address = http_address
        self._on_ready = on_ready
        self._shutdown_timeout_ms = shutdown_timeout_ms
        self._stop = asyncio.Event()
        self._received: set[int] = set()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        self._listen_for_signals()
        world = RealWorld(SocketNetwork())
        services = self._build(world)
        running = [loop.create_task(service.run(), name=service.name) for service in services]
        greeting = loop.create_task(self._greet(services))
        stopping = loop.create_task(self._stop.wait())
        http = loop.create_task(self._serve_http(services, world), name="http")
        try:
            done, _ = await asyncio.wait([*running, http, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            greeting.cancel()
            stopping.cancel()
            await self._shut_down(running)
            http.cancel()
            await asyncio.wait([greeting, stopping, http])
        failed = sum([_report(task) for task in [*running, http] if not task.cancelled()])
        if not self._stop.is_set() and not failed:
            logger.error("process stops reason=%s", f"{next(iter(done)).get_name()}_ended")
            failed = 1
        return EXIT_FAILED if failed else 0

    def _listen_for_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        if number in self._received:
            os._exit(128 + number)
        # Ctrl-C reaches a supervised process twice, from the terminal and as its parent's SIGTERM: that is one wish.
        self._received.add(number)
        if not self._stop.is_set():
            logger.info("shutdown begins signal=%s", signal.Signals(number).name)
            self._stop.set()

    async def _greet(self, services: Sequence[Service]) -> None:
        for service in services:
            await service.ready.wait()
        self._listen_for_signals()  # kopf, inside the operator, takes them for itself when it starts
        logger.info("process ready python=%s records=%s", sys.version.partition(" ")[0], records_build())
        self._on_ready()

    async def _serve_http(self, services: Sequence[Service], world: World) -> None:
        if self._http_address is None:
            await asyncio.Event().wait()
            return
        async with serve_http(services, world.metrics, *self._http_address) as (host, port):
            logger.info("http ready address=%s:%d", host, port)
            await asyncio.Event().wait()

    async def _shut_down(self, running: Sequence["asyncio.Task[None]"]) -> None:
        deadline = asyncio.get_running_loop().time() + self._shutdown_timeout_ms / 1000
        for task in reversed(running):
            task.cancel()
            await asyncio.wait([task], timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
        late = [task.get_name() for task in running if not task.done()]
        if late:
            logger.error("shutdown timed out services=%s", ",".join(late))
            os._exit(EXIT_FAILED)  # whatever hangs in there would hang the interpreter's exit too


def _report(task: "asyncio.Task[None]") -> bool:
    """Say why a service failed: one line for what a person can put right, a traceback for a bug."""
    error = task.exception()
    if error is None:
        return False
    for leaf in _leaves(error):
        if isinstance(leaf, (ServiceFailed, OSError)):
            logger.error("%s failed: %s", task.get_name(), leaf)
        elif not isinstance(leaf, asyncio.CancelledError):
            logger.error("%s failed", task.get_name(), exc_info=leaf)
    return True


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error

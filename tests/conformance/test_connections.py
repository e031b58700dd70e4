"""Connections that are slow, silent or too many: they are bounded, closed with one line in the log, and the others never notice."""

import contextlib
import resource
import socket
import statistics
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, Producer
from process_account import ProcessAccount
from wire_client import FETCH_VERSION, MIB, WireClient, fetch_request, framed

from millstream_wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from millstream_wire.records import Record, encode_batch

pytestmark = pytest.mark.alone

IDLE = 10_000
IDLE_BYTES_MAX = 8 * 1024
"""What one idle connection may cost the node, with a margin of two: 4 KiB were measured."""
SPARE_DESCRIPTORS = 2_000
TIMEOUT_S = 20
BROKER = 4
SET, DELETE = range(2)
ONE = encode_batch([Record(-1, 1, None, b"x" * 100)])


def log_of(directory: Path) -> str:
    return (directory / "node.log").read_text()


def produce_ms(client: WireClient, topic: str, count: int) -> list[float]:
    """How long each of so many produces took."""
    took = []
    for _ in range(count):
        started = time.monotonic()
        assert client.produce(topic, ONE).error_code == 0
        took.append((time.monotonic() - started) * 1000)
    return took


def a_real_client_works(bootstrap: str, topic: str) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for n in range(100):
        producer.produce(topic, b"%d" % n, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0
    assert not failed
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen: list[bytes | None] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 100 and time.monotonic() < deadline:
        seen += [message.value() for message in consumer.consume(100, 0.5) if message.error() is None]
    consumer.close()
    assert seen == [b"%d" % n for n in range(100)]


def is_closed(sock: socket.socket) -> bool:
    sock.settimeout(TIMEOUT_S)
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


class Dribblers:
    """Each has begun a large frame and sends one byte of it at a time."""

    def __init__(self, bootstrap: str, count: int) -> None:
        self.clients = [WireClient(bootstrap) for _ in range(count)]
        for client in self.clients:
            client.socket.sendall(struct.pack(">i", 50 * MIB))

    def dribble(self) -> None:
        for client in self.clients:
            with contextlib.suppress(OSError):
                client.socket.send(b"x")


def test_slow_and_silent_connections_end_and_nobody_else_notices(fresh: Path, topic: str) -> None:
    with servers.node(fresh, "connections.max.idle.ms=4000") as node, WireClient(node.bootstrap) as bystander:
        account = ProcessAccount(node.pid)
        bystander.create_topic(topic)
        bystander.create_topic("large", max_message_bytes=str(4 * MIB))
        large = encode_batch([Record(-1, 1, None, bytes(3 * MIB))])
        for _ in range(20):
            assert bystander.produce("large", large).error_code == 0
        before = account.resident_bytes
        dribblers = Dribblers(node.bootstrap, 20)
        stopped = [WireClient(node.bootstrap) for _ in range(20)]
        for client in stopped:
            client.socket.sendall(framed(fetch_request(topic, [(0, 0)]), FETCH_VERSION)[:-5])
        deaf = [WireClient(node.bootstrap, receive_buffer_bytes=4096) for _ in range(20)]
        for client in deaf:
            client.socket.sendall(framed(fetch_request("large", [(0, 0)], max_bytes=50 * MIB), FETCH_VERSION) * 20)
        account.forget_peak()
        took = []
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            dribblers.dribble()
            took += produce_ms(bystander, topic, 10)
            time.sleep(0.05)
        assert statistics.median(took) < 50
        assert max(took) < 4000
        assert account.peak_resident_bytes - before < 40 * MIB
        for client in dribblers.clients + stopped:
            assert is_closed(client.socket)
        # What was on its way to those who never read may still be read; then they too find themselves closed.
        for client in deaf:
            with contextlib.suppress(ConnectionError):
                for _ in range(21):
                    client.discard_frame()
                raise AssertionError("20 answers were sent to who never read one")
        for client in dribblers.clients + stopped + deaf:
            client.close()
        a_real_client_works(node.bootstrap, f"{topic}-after")
        log = log_of(fresh)
    assert log.count("reason=frame_timeout") == 20
    assert _idle_closed(log) >= 40  # the bystander too may be idle for so long, and what nodes have among themselves
    assert "ERROR" not in log


def _idle_closed(log: str) -> int:
    lines = [line for line in log.splitlines() if "reason=idle" in line]
    return sum(int(line.partition("count=")[2].split()[0]) for line in lines)


@pytest.fixture
def descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < IDLE + SPARE_DESCRIPTORS:
        pytest.skip(f"{IDLE} connections take more file descriptors than the {hard} that this shell may have")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("descriptors")
def test_ten_thousand_idle_connections_cost_little(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        client.create_topic(topic)
        alone = statistics.median(produce_ms(client, topic, 500))
        before, files_before = account.resident_bytes, account.open_files
        idle = [WireClient(node.bootstrap, source=f"127.0.0.{2 + n % 20}") for n in range(IDLE)]
        servers.eventually(lambda: _holds(account.open_files >= files_before + IDLE))
        each = (account.resident_bytes - before) / IDLE
        assert each < IDLE_BYTES_MAX, f"{each:.0f} bytes for each idle connection"
        a_real_client_works(node.bootstrap, f"{topic}-among")
        among = statistics.median(produce_ms(client, topic, 500))
        assert among < 3 * alone + 5, f"{among:.2f} ms among idle connections, {alone:.2f} ms alone"
        cpu_before = account.cpu_s
        time.sleep(1)
        assert account.cpu_s - cpu_before < 0.5
        print(f"\n{each:.0f} bytes for each idle connection; produce {alone:.2f} ms alone, {among:.2f} ms among them")
        for each_idle in idle[: IDLE // 2]:
            each_idle.close()
        servers.eventually(lambda: _holds(account.open_files < files_before + IDLE // 2 + 100))
        assert node.stop() == 0
        for each_idle in idle[IDLE // 2 :]:
            assert is_closed(each_idle.socket)
            each_idle.close()
        log = log_of(fresh)
    assert "ERROR" not in log
    assert "refused" not in log


def test_without_descriptors_connections_are_refused_and_the_rest_goes_on(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        client.create_topic(topic, segment_bytes="1048576")
        produce_ms(client, topic, 1)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = account.open_files + 100
        resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (limit, hard))
        too_many = [WireClient(node.bootstrap) for _ in range(200)]
        took = produce_ms(client, topic, 100)
        assert statistics.median(took) < 50
        refused = sum(_is_refused(each.socket) for each in too_many)
        assert 200 - limit < refused < 200
        assert account.open_files < limit
        # The descriptors that connections do not get are for segments: the log rolls on.
        rolled = encode_batch([Record(-1, 1, None, bytes(900_000))])
        assert [client.produce(topic, rolled).error_code for _ in range(5)] == [0] * 5
        cpu_before = account.cpu_s
        time.sleep(1)
        assert account.cpu_s - cpu_before < 0.5
        for each in too_many:
            each.close()
        servers.eventually(lambda: _holds(account.open_files < limit - 50))
        a_real_client_works(node.bootstrap, f"{topic}-after")
        log = log_of(fresh)
    assert log.count("connections refused") == 1
    assert "ERROR" not in log


def test_the_number_of_connections_is_limited_while_the_node_runs(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        client.create_topic(topic)

        def limit(value: str | None) -> None:
            operation = DELETE if value is None else SET
            config = AlterableConfig(name="max.connections.per.ip", config_operation=operation, value=value)
            resource = AlterConfigsResource(resource_type=BROKER, resource_name="0", configs=[config])
            request = IncrementalAlterConfigsRequest(resources=[resource])
            answer = client.call(request, 1, IncrementalAlterConfigsResponse)
            assert [each.error_code for each in answer.responses] == [0]

        limit("1")
        servers.eventually(lambda: _holds(not _is_welcome(node.bootstrap)))
        produce_ms(client, topic, 10)
        limit(None)
        servers.eventually(lambda: _holds(_is_welcome(node.bootstrap)))


def _is_welcome(bootstrap: str) -> bool:
    with WireClient(bootstrap) as newcomer:
        try:
            newcomer.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
        except ConnectionError:
            return False
        return True


def _is_refused(sock: socket.socket) -> bool:
    """Closed by the other side; one that is not has nothing to read."""
    sock.settimeout(0.01)
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def _holds(condition: bool) -> None:
    assert condition

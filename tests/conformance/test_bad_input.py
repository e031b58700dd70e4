"""Bad input gets Kafka's error or a closed connection with one line in the log, and the others never notice."""

import errno
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, Producer, TopicPartition

from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import ApiVersionsResponse, ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import Record, encode_batch

TIMEOUT_S = 30
PRODUCE_VERSION = 9


@pytest.fixture
def server(fresh: Path) -> Iterator[servers.ServerProcess]:
    with servers.node(fresh) as running:
        yield running


def address(server: servers.ServerProcess) -> tuple[str, int]:
    host, _, port = server.bootstrap.rpartition(":")
    return host, int(port)


def connect(server: servers.ServerProcess) -> socket.socket:
    return socket.create_connection(address(server), timeout=TIMEOUT_S)


def ask(server: servers.ServerProcess, frame: bytes) -> bytes:
    """Send one frame; what came back without its length, or nothing if the connection was closed."""
    with connect(server) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        return receive(connection)


def receive(connection: socket.socket) -> bytes:
    try:
        head = connection.recv(4, socket.MSG_WAITALL)
        return connection.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
    except ConnectionResetError:
        return b""


def works(server: servers.ServerProcess, topic: str = "still-here") -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap, "enable.idempotence": True})
    errors: list[object] = []
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == [None]


GARBAGE = {
    "an http request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a negative length": struct.pack(">i", -5) + b"x" * 64,
    "a huge length": struct.pack(">i", 2_000_000_000) + b"x" * 64,
    "an empty frame": struct.pack(">i", 0),
    "a frame too short for a header": struct.pack(">i", 3) + b"abc",
    "an unknown api key": struct.pack(">ihhih", 10, 9999, 0, 1, -1),
    "an unknown version": struct.pack(">ihhih", 10, 3, 99, 1, -1),
    "metadata with an absurd array": struct.pack(">ihhihi", 14, 3, 1, 1, -1, 2_000_000_000),
    "random bytes in a produce request": struct.pack(">ihhih", 110, 0, 9, 1, -1) + bytes(range(100)),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_closes_its_own_connection_only(node: servers.ServerProcess, garbage: bytes, topic: str) -> None:
    with connect(node) as bystander, connect(node) as connection:
        connection.sendall(garbage)
        connection.shutdown(socket.SHUT_WR)
        assert receive(connection) == b""
        frame = encode_request_header(RequestHeader(18, 0, 7, "x"))
        bystander.sendall(struct.pack(">i", len(frame)) + frame)
        assert receive(bystander)[:4] == struct.pack(">i", 7)
    works(node, topic)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(node: servers.ServerProcess) -> None:
    frame = struct.pack(">hhih", 18, 77, 5, -1) + b"\0"  # flexible, as any newer version is: no tags
    answer = ask(node, frame)
    assert answer[:4] == struct.pack(">i", 5)
    response = decode(ApiVersionsResponse, 0, answer[4:])
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert any(api.api_key == 18 for api in response.api_keys)


def produce_raw(server: servers.ServerProcess, topic: str, batch: bytes, partition: int = 0) -> int:
    """The error code of one raw batch."""
    data = PartitionProduceData(index=partition, records=memoryview(batch))
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    frame = encode_request_header(RequestHeader(0, PRODUCE_VERSION, 1, "raw")) + encode(request, PRODUCE_VERSION)
    answer = ask(server, frame)
    response = decode(ProduceResponse, PRODUCE_VERSION, answer[5:])
    return int(response.responses[0].partition_responses[0].error_code)


def test_bad_batches_get_kafkas_errors_and_leave_no_trace(node: servers.ServerProcess, topic: str) -> None:
    works(node, topic)
    good = encode_batch([Record(offset=0, timestamp=1, key=b"k", value=b"v")])
    wrong_crc = bytearray(good)
    wrong_crc[-1] ^= 0xFF
    old_magic = bytearray(good)
    old_magic[16] = 1
    assert produce_raw(node, topic, bytes(wrong_crc)) == ErrorCode.CORRUPT_MESSAGE
    assert produce_raw(node, topic, bytes(old_magic)) in (
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
    )
    assert produce_raw(node, topic, good[:-3]) in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
    assert produce_raw(node, topic, good, partition=99) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    big = encode_batch([Record(offset=0, timestamp=1, key=None, value=bytes(2_000_000))])
    assert produce_raw(node, topic, big) == ErrorCode.MESSAGE_TOO_LARGE
    reader = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "x"})
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_S) == (0, 1)
    reader.close()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [servers.MILLSTREAM, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def assert_one_clear_line(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    complaint = result.stderr.strip().splitlines()[-1]
    for word in words:
        assert word in complaint, result.stderr


def test_a_port_in_use_is_one_clear_line(server: servers.ServerProcess, fresh: Path) -> None:
    port = address(server)[1]
    result = run("node", "--port", str(port), "--data", str(fresh / "other"))
    assert_one_clear_line(result, str(port))


def test_a_directory_in_use_is_one_clear_line(server: servers.ServerProcess, fresh: Path) -> None:
    result = run("node", "--port", "0", "--data", str(fresh / "data"))
    assert_one_clear_line(result, str(fresh / "data"))


def test_a_directory_of_another_cluster_is_one_clear_line_and_untouched(fresh: Path) -> None:
    for name in ("one", "two"):
        (fresh / name).mkdir()
        with servers.node(fresh / name) as running:
            works(running)
            assert running.stop() == 0
    # The broker's directory of one cluster under the metadata of another.
    broker_directories = [p.parent for p in (fresh / "one" / "data").rglob("meta.properties")]
    assert broker_directories
    relative = broker_directories[0].relative_to(fresh / "one" / "data")
    target = fresh / "two" / "data" / relative
    (fresh / "two-own").mkdir()
    target.rename(fresh / "two-own" / "data")
    broker_directories[0].rename(target)
    before = sorted(str(p) for p in target.rglob("*.log"))
    result = run("node", "--port", "0", "--data", str(fresh / "two" / "data"))
    assert_one_clear_line(result, "cluster")
    assert sorted(str(p) for p in target.rglob("*.log")) == before


@pytest.mark.parametrize("setting", ["num.partitons=4", "num.partitions=many", "nonsense"])
def test_a_wrong_setting_is_one_clear_line(fresh: Path, setting: str) -> None:
    result = run("node", "--port", "0", "--data", str(fresh / "data"), "--set", setting)
    assert_one_clear_line(result, setting.partition("=")[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_refuses_and_loses_nothing(fresh: Path) -> None:
    disk = fresh / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    try:
        with servers.node(disk, "offsets.topic.num.partitions=2") as running:
            _fill(running, disk)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _fill(running: servers.ServerProcess, disk: Path) -> None:
    acknowledged: list[bytes] = []
    refused = 0
    producer = Producer(
        {
            "bootstrap.servers": running.bootstrap,
            "message.timeout.ms": 4000,
            "linger.ms": 0,
            "batch.num.messages": 1,
        }
    )

    def delivered(value: bytes):  # type: ignore[no-untyped-def]
        def report(error: object, _: object) -> None:
            nonlocal refused
            if error is None:
                acknowledged.append(value)
            else:
                refused += 1

        return report

    for n in range(40):
        value = f"{n}:".encode().ljust(900_000, b"x")
        producer.produce("full", value, partition=0, on_delivery=delivered(value))
        producer.poll(0.05)
    producer.flush(TIMEOUT_S)
    assert acknowledged
    assert refused > 0
    assert os.statvfs(disk).f_bfree * os.statvfs(disk).f_bsize < 4_000_000, errno.errorcode[errno.ENOSPC]
    reader = Consumer({"bootstrap.servers": running.bootstrap, "group.id": "x", "fetch.message.max.bytes": 2_000_000})
    reader.assign([TopicPartition("full", 0, 0)])
    seen: list[bytes] = []
    while len(seen) < len(acknowledged):
        message = reader.poll(TIMEOUT_S)
        assert message is not None
        assert message.error() is None
        seen.append(message.value())
    reader.close()
    assert set(acknowledged) <= set(seen)

"""What a node keeps in its own memory, and what it leaves to the page cache: big answers, many partitions, old records."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import servers
from process_account import ProcessAccount
from wire_client import FETCH_VERSION, MIB, PRODUCE_VERSION, WireClient, fetch_request, framed, produce_request

from millstream_wire.messages import FetchRequest, FetchResponse, ProduceResponse
from millstream_wire.records import Record, encode_batch

pytestmark = pytest.mark.alone

HERE = Path(__file__).parent
PARTITIONS = 1_000
PARTITIONS_BYTES_MAX = 200 * MIB
PER_REQUEST = 100
READERS = 10
PRODUCERS, BATCHES_EACH = 20, 5
PRODUCED_BYTES_MAX = 64 * MIB
COLD_BYTES = 200 * MIB
LARGE = encode_batch([Record(-1, 1, None, os.urandom(1000)) for _ in range(900)])
ONE = encode_batch([Record(-1, 1, None, b"x" * 100)])
TAIL_ROUNDS = 200


def fill(client: WireClient, topic: str, size: int) -> int:
    """Produce at least so many bytes; the number of records."""
    batches = -(-size // len(LARGE))
    for _ in range(batches):
        assert client.produce(topic, LARGE).error_code == 0
    return batches * 900


def forget_on_disk(directory: Path, topic: str) -> None:
    """Write the topic out and let the page cache forget it."""
    for path in directory.rglob(f"{topic}-*/*"):
        descriptor = os.open(path, os.O_RDWR)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


@pytest.mark.parametrize("committed", [False, True], ids=["read uncommitted", "read committed"])
def test_a_fetch_of_50_mib_costs_little_memory(fresh: Path, topic: str, committed: bool) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        client.create_topic(topic)
        fill(client, topic, 60 * MIB)
        assert len(client.fetch(topic, 0, max_bytes=MIB).records or b"") > 0
        account.forget_peak()
        before = account.resident_bytes
        request = framed(fetch_request(topic, [(0, 0)], max_bytes=50 * MIB, committed=committed), FETCH_VERSION)
        for _ in range(3):
            client.socket.sendall(request)
            assert client.discard_frame() > 49 * MIB
        alone = account.peak_resident_bytes - before
        # Many at once, whose answers wait for readers that take a little at a time.
        readers = [WireClient(node.bootstrap, receive_buffer_bytes=64 * 1024) for _ in range(READERS)]
        for reader in readers:
            reader.socket.sendall(request)
        for _ in range(20):
            for reader in readers:
                assert reader.socket.recv(100_000)
            assert client.produce(topic, ONE).error_code == 0
        together = account.peak_resident_bytes - before
        for reader in readers:
            reader.close()
        print(
            f"\nfetches of 50 MiB: {alone / MIB:.1f} MiB at the most for one, {together / MIB:.1f} for {READERS} slow ones"
        )
        assert alone < 5 * MIB
        assert together < 10 * MIB


def test_many_large_batches_at_once_cost_bounded_memory(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        client.create_topic(topic, partitions=4)
        servers.eventually(lambda: _holds(client.produce(topic, ONE, 3).error_code == 0))
        account.forget_peak()
        before = account.resident_bytes
        request = framed(produce_request(topic, LARGE), PRODUCE_VERSION)
        producers = [WireClient(node.bootstrap) for _ in range(PRODUCERS)]
        # Every frame is under way before the first is whole.
        for start in range(0, len(request), 200_000):
            for producer in producers:
                producer.socket.sendall(request[start : start + 200_000])
        for producer in producers:
            for _ in range(BATCHES_EACH - 1):
                producer.socket.sendall(request)
        answers = [p.receive(ProduceResponse, PRODUCE_VERSION) for p in producers for _ in range(BATCHES_EACH)]
        assert {a.responses[0].partition_responses[0].error_code for a in answers} == {0}
        grown = account.peak_resident_bytes - before
        print(f"\n{grown / MIB:.1f} MiB at the most for {PRODUCERS} producers of {BATCHES_EACH} batches of 0.9 MB each")
        assert grown < PRODUCED_BYTES_MAX
        for producer in producers:
            producer.close()


def test_a_thousand_open_partitions_cost_little_memory(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        before, files_before = account.resident_bytes, account.open_files
        client.create_topic(topic, partitions=PARTITIONS)
        produce_everywhere(client, topic)
        assert client.call(every_partition(topic), FETCH_VERSION, FetchResponse).responses[0].partitions
        grown, files = account.resident_bytes - before, account.open_files - files_before
        print(f"\n{grown / PARTITIONS / 1024:.1f} KiB and {files / PARTITIONS:.2f} descriptors for each open partition")
        assert grown < PARTITIONS_BYTES_MAX
        assert files <= PARTITIONS + 10
        assert node.stop() == 0
        with servers.node(fresh) as again, WireClient(again.bootstrap) as reader:
            account = ProcessAccount(again.pid)
            produce_everywhere(reader, topic)
            assert account.resident_bytes < before + PARTITIONS_BYTES_MAX


def produce_everywhere(client: WireClient, topic: str) -> None:
    for start in range(0, PARTITIONS, PER_REQUEST):
        missing = set(range(start, start + PER_REQUEST))
        deadline = time.monotonic() + 60
        while missing:
            assert time.monotonic() < deadline, f"{missing} cannot be written"
            answer = client.call(produce_request(topic, ONE, *missing), PRODUCE_VERSION, ProduceResponse)
            missing -= {each.index for each in answer.responses[0].partition_responses if each.error_code == 0}


def every_partition(topic: str) -> FetchRequest:
    return fetch_request(topic, [(index, 0) for index in range(PARTITIONS)])


def _holds(condition: bool) -> None:
    assert condition


def test_readers_that_have_caught_up_cause_no_disk_reads(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as producer, WireClient(node.bootstrap) as reader:
        account = ProcessAccount(node.pid)
        producer.create_topic(topic, segment_bytes="1048576", index_interval_bytes="4096")
        fill(producer, topic, 2 * MIB)
        offset = producer.produce(topic, ONE).base_offset + 1
        read = faults = received = 0
        for turn in range(TAIL_ROUNDS):
            batch, count = (LARGE, 900) if turn % 3 == 0 else (ONE, 1)
            assert producer.produce(topic, batch).base_offset == offset
            # Between the fetches the file system may have to read tables of its own, to make the next segment's files.
            read_before, faults_before = account.disk_read_bytes, account.major_faults
            found = reader.fetch(topic, offset)
            read += account.disk_read_bytes - read_before
            faults += account.major_faults - faults_before
            assert found.error_code == 0
            assert len(found.records or b"") == len(batch)
            received += len(batch)
            offset += count
        print(f"\n{read} bytes read from the disk and {faults} major faults for {received / MIB:.0f} MiB of tailing")
        assert received > 10 * MIB
        assert read < 64 * 1024
        assert faults < 10


READER = """
import sys
from wire_client import WireClient
client, end, per_fetch = WireClient(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
offset = 0
while offset < end:
    found = client.fetch(sys.argv[2], offset, max_bytes=per_fetch)
    assert found.error_code == 0
    offset += len(found.records) // int(sys.argv[5]) * 900
"""


@pytest.mark.parametrize("per_fetch", [MIB, 50 * MIB], ids=["1 MiB", "50 MiB"])
def test_reading_from_the_disk_keeps_nobody_waiting(fresh: Path, topic: str, per_fetch: int) -> None:
    """How long the others wait depends on the machine; that it is not for the disk, on what its thread does. `make bench` times it."""
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        account = ProcessAccount(node.pid)
        client.create_topic(topic)
        client.create_topic(f"{topic}-other")
        end = fill(client, topic, COLD_BYTES)
        alone = sorted(_produce_ms(client, f"{topic}-other") for _ in range(500))
        forget_on_disk(fresh, topic)
        read_before = account.disk_read_bytes
        numbers = [str(end), str(per_fetch), str(len(LARGE))]
        reader = subprocess.Popen([sys.executable, "-c", READER, node.bootstrap, topic, *numbers], cwd=HERE)
        took, looks, waits = [], 0, 0
        while reader.poll() is None:
            took.append(_produce_ms(client, f"{topic}-other"))
            for _ in range(10):
                looks += 1
                waits += account.first_thread_waits_for_disk
                time.sleep(0.0001)
        assert reader.returncode == 0
        read = account.disk_read_bytes - read_before
    if read < COLD_BYTES // 2:
        pytest.skip("the records did not come from a disk here")
    took.sort()
    print(f"\nproduce alone: {_percentiles(alone)}; beside a cold read of {read / MIB:.0f} MiB: {_percentiles(took)}")
    print(f"of {looks} looks at the thread that serves connections {waits} found it waiting for a disk")
    assert waits < looks // 20


def _produce_ms(client: WireClient, topic: str) -> float:
    started = time.monotonic()
    assert client.produce(topic, ONE).error_code == 0
    return (time.monotonic() - started) * 1000


def _percentiles(took: list[float]) -> str:
    return f"p50 {took[len(took) // 2]:.2f} p99 {took[len(took) * 99 // 100]:.2f} max {took[-1]:.2f} ms"

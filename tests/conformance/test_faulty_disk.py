"""A disk that gives errors for one partition's files: its clients get Kafka's error, its log one line, the others go on."""

import os
from pathlib import Path

import pytest
import servers
from faulty_disk import FaultyDisk
from wire_client import LIST_OFFSETS_VERSION, WireClient

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListOffsetsRequest, ListOffsetsResponse
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.records import Record, encode_batch

ONE = encode_batch([Record(-1, 1, b"k", b"x" * 100)])
LARGE = encode_batch([Record(-1, 1, b"k", os.urandom(300_000))])
FAILS = ErrorCode.KAFKA_STORAGE_ERROR
OPENED_AGAIN_S = 60


@pytest.fixture
def disk(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> FaultyDisk:
    return FaultyDisk(fresh, "/bad-0/", monkeypatch)


def fill(bootstrap: str) -> None:
    with WireClient(bootstrap) as client:
        for topic in ("bad", "good"):
            client.create_topic(topic)
            assert [client.produce(topic, batch).error_code for batch in (ONE, LARGE, ONE)] == [0, 0, 0]


def codes(bootstrap: str, topic: str) -> list[int]:
    """What fetching, producing and looking for a time are answered with."""
    asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=1)])
    with WireClient(bootstrap) as client:
        times = client.call(ListOffsetsRequest(topics=[asked]), LIST_OFFSETS_VERSION, ListOffsetsResponse)
        found = times.topics[0].partitions[0].error_code
        return [client.fetch(topic, 0).error_code, client.produce(topic, ONE).error_code, found]


def log_of(directory: Path) -> str:
    return (directory / "node.log").read_text()


def test_one_partitions_errors_are_its_own(fresh: Path, disk: FaultyDisk) -> None:
    with servers.node(fresh) as node:
        fill(node.bootstrap)
        disk.fail()
        for _ in range(3):
            assert codes(node.bootstrap, "bad") == [FAILS, FAILS, FAILS]
            assert codes(node.bootstrap, "good") == [0, 0, 0]
        disk.heal()
        assert codes(node.bootstrap, "bad") == [0, 0, 0]
        with WireClient(node.bootstrap) as client:
            assert client.fetch("bad", 3).error_code == 0
            assert client.produce("bad", ONE).base_offset == 4  # nothing that was refused is there
        assert node.stop() == 0
    log = log_of(fresh)
    assert log.count("read failed partition=bad-0") == 1
    assert log.count("append failed partition=bad-0") == 1
    assert log.count("ERROR") == 2
    assert "Traceback" not in log


@pytest.mark.parametrize("batch", [ONE, LARGE], ids=["small", "large"])
def test_an_error_while_sending_ends_the_connection_with_one_line(fresh: Path, disk: FaultyDisk, batch: bytes) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as other:
        fill(node.bootstrap)
        with WireClient(node.bootstrap) as client:
            assert len(client.fetch("bad", 0).records or b"") == 2 * len(ONE) + len(LARGE)
            assert client.produce("bad", batch).base_offset == 3
            disk.fail()
            with pytest.raises((ConnectionError, TimeoutError)):  # where the next read begins needs no look at the file
                client.fetch("bad", 3)
        assert other.fetch("good", 0).error_code == 0
        disk.heal()
        assert len(other.fetch("bad", 3).records or b"") == len(batch)
    log = log_of(fresh)
    assert log.count("reason=unreadable_file") == 1
    assert log.count("ERROR") == 1
    assert "Traceback" not in log


@pytest.mark.parametrize("kill", [True, False], ids=["after a kill", "after a stop"])
def test_a_partition_that_cannot_be_opened_is_left_out(fresh: Path, disk: FaultyDisk, kill: bool) -> None:
    with servers.node(fresh) as node:
        fill(node.bootstrap)
        if kill:
            node.kill()
        else:
            assert node.stop() == 0
    before = log_of(fresh)
    disk.fail()
    with servers.node(fresh) as node:
        servers.eventually(lambda: _are(codes(node.bootstrap, "good"), [0, 0, 0]))
        assert codes(node.bootstrap, "bad") == [FAILS, FAILS, FAILS]
        disk.heal()
        servers.eventually(lambda: _are(codes(node.bootstrap, "bad"), [0, 0, 0]), within_s=OPENED_AGAIN_S)
        with WireClient(node.bootstrap) as client:
            assert len(client.fetch("bad", 0).records or b"") == 3 * len(ONE) + len(LARGE)
        assert node.stop() == 0
    log = log_of(fresh).removeprefix(before)
    assert log.count("partition not opened partition=bad-0") == 1
    assert log.count("ERROR") == 1
    assert "Traceback" not in log


def _are(found: list[int], wanted: list[int]) -> None:
    assert found == wanted

"""A live node under hostile input: mutations of every request it offers, bombs of every codec, while others are served."""

import contextlib
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import servers
from generated_messages import generate, versions_of
from process_account import ProcessAccount
from wire_client import MIB, WireClient

from millstream_wire.api import API, ApiKey
from millstream_wire.codec import encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.records import HEADER_SIZE, BatchHeader, Compression, Record, compress, encode_batch
from millstream_wire.records.batch import NO_PRODUCER_ID, attributes_of, write_header

FRAMES = 20_000
FRAMES_A_CONNECTION = 40
FRAMES_A_LOOK = 200
FUZZED_BYTES_MAX = 150 * MIB
BOMB_BYTES_MAX = 400 * MIB
PATIENCE_S = 120
AMPLE = str(64 * MIB)
ONE = encode_batch([Record(-1, 1, b"k", b"x" * 100)])
ABSURD = [
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff" * 12,
    b"\0" * 8,
]


class Bystander:
    """A client that behaves, on one connection that has to last."""

    def __init__(self, bootstrap: str) -> None:
        self._client = WireClient(bootstrap)
        self._client.socket.settimeout(PATIENCE_S)
        self._client.create_topic("bystander")
        self._offset = 0
        self.worst_ms = 0.0

    def looks(self) -> None:
        started = time.monotonic()
        assert self._client.produce("bystander", ONE).base_offset == self._offset
        assert len(self._client.fetch("bystander", self._offset).records or b"") == len(ONE)
        self._offset += 1
        self.worst_ms = max(self.worst_ms, (time.monotonic() - started) * 1000)

    def close(self) -> None:
        self._client.close()


def offered(bootstrap: str) -> list[tuple[ApiKey, int]]:
    """Every request and version that the node takes; Produce 0 to 2 it offers only to refuse."""
    with WireClient(bootstrap) as client:
        answer = client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    apis = [(ApiKey(api.api_key), range(api.min_version, api.max_version + 1)) for api in answer.api_keys]
    return [
        (key, version) for key, versions in apis for version in versions if version in versions_of(API[key].request)
    ]


def mutated(frame: bytes, source: random.Random) -> bytes:
    """The frame with its length, after one or several of what goes wrong on the way, or as it is."""
    data = bytearray(frame)
    for _ in range(source.choice([0, 1, 1, 1, 2, 5])):
        at = source.randrange(len(data) + 1)
        match source.randrange(6):
            case 0:
                del data[at:]
            case 1 | 2 if at < len(data):
                data[at] = source.choice([0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)])
            case 3:
                data[at:at] = source.randbytes(source.choice([1, 4, 40]))
            case _:
                absurd = source.choice(ABSURD)
                data[at : at + len(absurd)] = absurd
    length = len(data)
    if source.random() < 0.02:
        length = source.choice([0, -1, 2**31 - 1, -(2**31), length - 1, length + 1, 104_857_600])
    return struct.pack(">i", length) + data


def frames(bootstrap: str, source: random.Random) -> Iterator[bytes]:
    kinds = offered(bootstrap)
    for number in range(FRAMES):
        key, version = kinds[number] if number < len(kinds) else source.choice(kinds)
        header = RequestHeader(key, version, number, source.choice(["fuzz", ""]))
        body = encode(generate(API[key].request, version, number), version)
        yield mutated(encode_request_header(header) + body, source)


def connected(bootstrap: str, source: random.Random) -> WireClient:
    """As anybody, or as somebody who says that it is a coordinator."""
    client = WireClient(bootstrap)
    if source.random() < 0.3:
        said = ApiVersionsRequest(client_software_name="fuzz", client_software_version="1", sender_node_id=10_000)
        client.call(said, 4, ApiVersionsResponse)
    return client


def test_mutations_of_every_request_harm_nobody_else(fresh: Path) -> None:
    source = random.Random(20)
    with servers.node(fresh, "offsets.topic.num.partitions=2", "transaction.state.log.num.partitions=2") as node:
        account = ProcessAccount(node.pid)
        bystander = Bystander(node.bootstrap)
        with WireClient(node.bootstrap) as client:
            client.create_topic("topic", partitions=2)
        bystander.looks()
        before = account.resident_bytes
        account.forget_peak()
        client = connected(node.bootstrap, source)
        for number, frame in enumerate(frames(node.bootstrap, source), start=1):
            if number % FRAMES_A_CONNECTION == 0 or not sent(client, frame):
                client.close()
                client = connected(node.bootstrap, source)
            if number % FRAMES_A_LOOK == 0:
                bystander.looks()
        client.close()
        bystander.looks()
        bystander.close()
        grown = account.peak_resident_bytes - before
        print(f"\n{grown / MIB:.1f} MiB at the most, {bystander.worst_ms:.0f} ms the longest that the bystander waited")
        assert grown < FUZZED_BYTES_MAX
        assert node.stop() == 0
        log = (fresh / "node.log").read_text()
    assert "Traceback" not in log, log[log.index("Traceback") - 1000 :][:4000]
    assert "request failed" not in log
    with servers.node(fresh) as again, WireClient(again.bootstrap) as client:
        assert client.fetch("bystander", 0).error_code == 0


@pytest.mark.parametrize(
    "asked", [MetadataRequestTopic(name=None), MetadataRequestTopic(name="x", topic_id=UUID(int=5))], ids=["null", "id"]
)
@pytest.mark.parametrize("version", [10, 11])
def test_metadata_takes_no_ids_before_it_can_answer_with_them(
    anywhere: str, version: int, asked: MetadataRequestTopic
) -> None:
    """Their place is in the request since version 10; what such a request gets is Kafka's to say, which is asked too."""
    with WireClient(anywhere.partition(",")[0]) as client:
        request = MetadataRequest(topics=[asked, MetadataRequestTopic(name="other")], allow_auto_topic_creation=True)
        answer = client.call(request, version, MetadataResponse)
        found = [(topic.error_code, topic.name, topic.topic_id) for topic in answer.topics]
        assert found == [
            (ErrorCode.INVALID_REQUEST, asked.name or "", asked.topic_id),
            (ErrorCode.INVALID_REQUEST, "other", UUID(int=0)),
        ]
        assert (answer.brokers, answer.cluster_id, answer.controller_id) == ([], None, -1)


def sent(client: WireClient, frame: bytes) -> bool:
    """Whether the connection took it; what it answers nobody cares for, but it must find room."""
    client.socket.settimeout(PATIENCE_S)
    try:
        client.socket.sendall(frame)
        client.socket.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while client.socket.recv(1 << 16):
                continue
            return False
    except (ConnectionResetError, BrokenPipeError):
        return False
    return True


def compressed(codec: Compression, records: bytes, count: int) -> bytes:
    payload = compress(codec, records)
    batch = bytearray(HEADER_SIZE) + payload
    write_header(
        batch,
        BatchHeader(
            base_offset=0,
            length=len(batch) - 12,
            leader_epoch=-1,
            magic=2,
            crc=0,
            attributes=attributes_of(compression=codec),
            last_offset_delta=count - 1,
            base_timestamp=1,
            max_timestamp=1,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=-1,
            base_sequence=-1,
            record_count=count,
        ),
    )
    return bytes(batch)


@pytest.mark.parametrize("codec", [each for each in Compression if each], ids=lambda codec: codec.name.lower())
def test_bombs_are_refused_and_many_records_are_not_a_bomb(fresh: Path, codec: Compression) -> None:
    with servers.node(fresh) as node, WireClient(node.bootstrap) as client:
        client.socket.settimeout(PATIENCE_S)
        account = ProcessAccount(node.pid)
        client.create_topic("plain", max_message_bytes=AMPLE)
        client.create_topic("compacted", cleanup_policy="compact", max_message_bytes=AMPLE)
        client.create_topic("aged", message_timestamp_before_max_ms="1000", max_message_bytes=AMPLE)
        client.create_topic("by-append", message_timestamp_type="LogAppendTime", max_message_bytes=AMPLE)
        bystander = Bystander(node.bootstrap)
        bystander.looks()
        before = account.resident_bytes
        account.forget_peak()
        too_large = compressed(codec, bytes(300 * MIB), 1)
        too_many = compressed(codec, bytes(8 * (1 << 21)), 1 << 21)
        for topic in ("plain", "compacted", "aged", "by-append"):
            for bomb in (too_large, too_many):
                assert client.produce(topic, bomb).error_code == ErrorCode.INVALID_RECORD
                bystander.looks()
        many = encode_batch([Record(-1, 1, None, b"")] * 200_000, compression=codec)
        codes = {t: client.produce(t, many).error_code for t in ("plain", "compacted", "aged", "by-append")}
        assert codes == {"plain": 0, "compacted": 87, "aged": 32, "by-append": 0}
        assert client.offset_at("plain", 0) == 0
        assert client.offset_at("by-append", 2) == 0
        bystander.looks()
        bystander.close()
        grown = account.peak_resident_bytes - before
        print(
            f"\n{codec.name.lower()}: bombs of {len(too_large)} and {len(too_many)} bytes, {grown / MIB:.0f} MiB at the most"
        )
        assert grown < BOMB_BYTES_MAX
        log = (fresh / "node.log").read_text()
    assert "Traceback" not in log
    assert "ERROR" not in log

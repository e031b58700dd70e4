"""A client that sends exactly what it is told, one connection at a time: for what no well-behaved client does, and for timing."""

import socket
import struct
from collections.abc import Sequence
from typing import TypeVar

from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.header import RequestHeader, decode_response_header, encode_request_header
from millstream_wire.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, PartitionData
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.produce import PartitionProduceData, PartitionProduceResponse, TopicProduceData
from millstream_wire.schema import Request, Response

TIMEOUT_S = 30
CLIENT_ID = "wire-client"
PRODUCE_VERSION = 9
FETCH_VERSION = 12  # the last with names
CREATE_TOPICS_VERSION = 5
LIST_OFFSETS_VERSION = 7
MIB = 1 << 20

R = TypeVar("R", bound=Response)


class WireClient:
    def __init__(
        self, bootstrap: str, *, client_id: str = CLIENT_ID, source: str = "", receive_buffer_bytes: int = 0
    ) -> None:
        """`source`: the address to come from; a small receive buffer makes a reader that can be filled up."""
        self._client_id = client_id
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((host, int(port)))

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def call(self, request: Request, version: int, response: type[R]) -> R:
        self.socket.sendall(framed(request, version, client_id=self._client_id))
        return self.receive(response, version)

    def receive(self, response: type[R], version: int) -> R:
        frame = self.receive_frame()
        _, position = decode_response_header(response.api_key, version, frame)
        return decode(response, version, frame, position)

    def receive_frame(self) -> memoryview:
        """Raises ConnectionError when the connection is closed instead."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return memoryview(self._exactly(size))

    def discard_frame(self) -> int:
        """Read an answer without looking at it or keeping it; its size."""
        (size,) = struct.unpack(">i", self._exactly(4))
        left, scratch = size, bytearray(MIB)
        while left:
            count = self.socket.recv_into(scratch, min(left, len(scratch)))
            if not count:
                raise ConnectionError("closed in the middle of an answer")
            left -= count
        return int(size)

    def create_topic(self, name: str, *, partitions: int = 1, **configs: str) -> None:
        """Dots in the names of configs are underscores here."""
        settings = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=settings)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer = self.call(request, CREATE_TOPICS_VERSION, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0, answer

    def produce(self, topic: str, batch: bytes | bytearray, partition: int = 0) -> PartitionProduceResponse:
        answer = self.call(produce_request(topic, batch, partition), PRODUCE_VERSION, ProduceResponse)
        return answer.responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int, *, max_bytes: int = MIB, max_wait_ms: int = 500) -> PartitionData:
        request = fetch_request(topic, [(0, offset)], max_bytes=max_bytes, max_wait_ms=max_wait_ms)
        return self.call(request, FETCH_VERSION, FetchResponse).responses[0].partitions[0]

    def offset_at(self, topic: str, timestamp: int) -> int:
        asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
        answer = self.call(ListOffsetsRequest(topics=[asked]), LIST_OFFSETS_VERSION, ListOffsetsResponse)
        return answer.topics[0].partitions[0].offset

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, have = memoryview(data), 0
        while have < size:
            count = self.socket.recv_into(view[have:])
            if not count:
                raise ConnectionError("closed by the server")
            have += count
        return data


def framed(request: Request, version: int, *, correlation_id: int = 1, client_id: str = CLIENT_ID) -> bytes:
    assert API[ApiKey(request.api_key)].request is type(request)
    header = RequestHeader(request.api_key, version, correlation_id, client_id)
    frame = encode_request_header(header) + encode(request, version)
    return struct.pack(">i", len(frame)) + frame


def produce_request(topic: str, batch: bytes | bytearray, *partitions: int) -> ProduceRequest:
    """The same batch to each of the partitions, to the first if none is named."""
    data = [PartitionProduceData(index=index, records=memoryview(batch)) for index in partitions or (0,)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def fetch_request(
    topic: str,
    offsets: Sequence[tuple[int, int]],
    *,
    max_bytes: int = MIB,
    max_wait_ms: int = 500,
    committed: bool = False,
) -> FetchRequest:
    """`offsets`: of each partition, by its index; `committed`: what no transaction may still take back."""
    wanted = [FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=max_bytes) for index, at in offsets]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=1 if committed else 0,
        topics=[FetchTopic(topic=topic, partitions=wanted)],
    )

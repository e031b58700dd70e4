"""The least that a server in Python can do for a Produce over TLS, to compare with: decrypt it, write as many bytes to a file, answer.

    tls_floor.py bio|socket CERTIFICATE FILE

A thread for each connection that waits in `recv`: no event loop, no look at any record, nothing kept. `bio` reads as much as there is and
hands it to OpenSSL, as the product does; `socket` lets OpenSSL read for itself.
"""

import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import Client
from floor import FloorProcess

from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.header import encode_response_header, read_request_header
from millstream_wire.messages import (
    ApiVersionsResponse,
    InitProducerIdResponse,
    MetadataResponse,
    ProduceResponse,
)
from millstream_wire.messages.api_versions import ApiVersion
from millstream_wire.messages.metadata import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse

WAYS = ("bio", "socket")
SERVED = (ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.API_VERSIONS, ApiKey.INIT_PRODUCER_ID)
NAMES_UNTIL = 12
"""Later versions of Produce and Metadata have ids in the place of names."""
READ_BYTES = 256 * 1024
FED_BYTES = 17 * 1024  # a record and what belongs to it

ReadInto = Callable[[memoryview], int]
Send = Callable[[bytes], object]


class TlsFloor(FloorProcess):
    def __init__(self, way: str, directory: Path, certificate: str, client: Client) -> None:
        command = [sys.executable, __file__, way, certificate, str(directory / f"written-{way}")]
        super().__init__(f"floor ({way})", directory, command, client)


def main() -> None:
    way, certificate, path = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    print(port, flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        open_it = _by_bio if way == "bio" else _by_socket
        threading.Thread(target=_serve, args=(open_it, context, connection, file, port), daemon=True).start()


def _serve(open_it: Any, context: ssl.SSLContext, connection: socket.socket, file: int, port: int) -> None:
    read_into, send = open_it(context, connection)
    request, position = memoryview(bytearray(4 << 20)), 0
    try:
        while True:
            _fill(read_into, request[:4])
            size = int.from_bytes(request[:4], "big")
            _fill(read_into, request[:size])
            if int.from_bytes(request[:2], "big") == ApiKey.PRODUCE:
                position += os.pwrite(file, request[:size], position)
            content = _answer(request[:size], port)
            send(len(content).to_bytes(4, "big") + content)
    except (EOFError, OSError):
        connection.close()


def _fill(read_into: ReadInto, room: memoryview) -> None:
    while room:
        count = read_into(room)
        if count == 0:
            raise EOFError
        room = room[count:]


def _by_socket(context: ssl.SSLContext, connection: socket.socket) -> tuple[ReadInto, Send]:
    tls = context.wrap_socket(connection, server_side=True)
    return tls.recv_into, tls.sendall


def _by_bio(context: ssl.SSLContext, connection: socket.socket) -> tuple[ReadInto, Send]:
    incoming, outgoing, cipher = ssl.MemoryBIO(), ssl.MemoryBIO(), memoryview(bytearray(READ_BYTES))
    tls: Any = context.wrap_bio(incoming, outgoing, server_side=True)
    at = end = 0

    def feed() -> bool:
        """Whether there is more to decrypt."""
        nonlocal at, end
        if at == end:
            at, end = 0, connection.recv_into(cipher)
        until = min(end, at + FED_BYTES)
        count = incoming.write(cipher[at:until])
        at = until
        return count > 0

    def read_into(room: memoryview) -> int:
        while True:
            try:
                return int(tls.read(len(room), room))
            except ssl.SSLWantReadError:
                if not feed():
                    return 0
            except ssl.SSLZeroReturnError:
                return 0

    def send(content: bytes) -> None:
        tls.write(content)
        connection.sendall(outgoing.read())

    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            connection.sendall(outgoing.read())
            if not feed():
                break
        else:
            break
    connection.sendall(outgoing.read())
    return read_into, send


def _answer(frame: memoryview, port: int) -> bytes:
    number, version, correlation_id, _, position = read_request_header(frame)
    key = ApiKey(number)
    known = version <= API[key].versions[1]
    spoken = version if known else 0
    asked: Any = decode(API[key].request, version, frame, position) if known else None
    answered: Any
    match key:
        case ApiKey.API_VERSIONS:
            offered = [(each, *API[each].versions) for each in SERVED]
            answered = ApiVersionsResponse(
                error_code=0 if known else 35,
                api_keys=[
                    ApiVersion(api_key=each, min_version=least, max_version=min(most, NAMES_UNTIL))
                    for each, least, most in offered
                ],
            )
        case ApiKey.METADATA:
            partition = MetadataResponsePartition(leader_epoch=0, replica_nodes=[0], isr_nodes=[0])
            answered = MetadataResponse(
                brokers=[MetadataResponseBroker(host="127.0.0.1", port=port)],
                topics=[MetadataResponseTopic(name=each.name, partitions=[partition]) for each in asked.topics or ()],
            )
        case ApiKey.INIT_PRODUCER_ID:
            answered = InitProducerIdResponse(producer_id=1)
        case _:
            answered = ProduceResponse(
                responses=[
                    TopicProduceResponse(
                        name=topic.name,
                        partition_responses=[
                            PartitionProduceResponse(index=each.index) for each in topic.partition_data
                        ],
                    )
                    for topic in asked.topic_data
                ]
            )
    return encode_response_header(key, spoken, correlation_id) + encode(answered, spoken)


if __name__ == "__main__":
    main()

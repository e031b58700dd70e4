"""Values over the socket between a test and the host of its clusters, which is a child of it: pickled, with their length before them."""

import pickle
import socket
from typing import Any

_LENGTH_BYTES = 4


def send(sock: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    sock.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def receive(sock: socket.socket) -> Any | None:
    """None once the other side has gone."""
    head = _exactly(sock, _LENGTH_BYTES)
    data = None if head is None else _exactly(sock, int.from_bytes(head, "big"))
    return None if data is None else pickle.loads(data)


def _exactly(sock: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        try:
            piece = sock.recv(count - len(data))
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)

"""Bytes come in any pieces, from connections that share a buffer; frames go out whole and in order, also when they have to wait."""

import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.receiving import (
    FEW_BYTES,
    NEAR_BYTES,
    NO_MEMORY,
    SHARED_BUFFER_BYTES,
    BadFrame,
    Receiver,
)

FRAME_MAX_BYTES = 3_000_000


@dataclass
class Peer:
    """One connection: what is still to be sent, and what has come out."""

    shared: bytearray
    pool: BufferPool
    stream: bytes
    frames: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.theirs.setblocking(False)
        self.receiver = Receiver(self.ours, self.shared, self.pool, FRAME_MAX_BYTES)

    def send(self, size: int) -> None:
        if self.stream:
            with suppress(BlockingIOError):
                self.stream = self.stream[self.theirs.send(self.stream[:size]) :]

    def receive(self, frames_at_once: int) -> None:
        if not self.receiver.holds_frames:
            try:
                assert self.receiver.receive() != NO_MEMORY
            except BlockingIOError:
                return
        self.receiver.resume()
        while (frame := self.receiver.next_frame()) is not None:
            self.frames.append(bytes(frame))
            frames_at_once -= 1
            if not frames_at_once:
                self.receiver.hold()
                return

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.receiver.close()
        self.receiver.hold()
        self.ours.close()
        self.theirs.close()


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


edges = (1, FEW_BYTES - 4, FEW_BYTES, NEAR_BYTES - 4, NEAR_BYTES, SHARED_BUFFER_BYTES - 4, SHARED_BUFFER_BYTES)
sizes = st.one_of(st.integers(1, 300), st.sampled_from(edges), st.integers(1, 2 * NEAR_BYTES), st.just(1_000_000))
pieces = st.one_of(st.integers(1, 12), st.integers(1, 2 * NEAR_BYTES), st.just(200_000))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(sizes, max_size=30), min_size=2, max_size=2),
    st.lists(st.tuples(st.integers(0, 1), pieces, st.integers(1, 40)), max_size=60),
)
def test_frames_come_out_whole_and_in_order(frames: list[list[int]], course: list[tuple[int, int, int]]) -> None:
    shared, pool = bytearray(SHARED_BUFFER_BYTES), BufferPool()
    contents = [[bytes([65 + at % 26]) * size for at, size in enumerate(each)] for each in frames]
    peers = [Peer(shared, pool, b"".join(map(framed, each))) for each in contents]
    with peers[0], peers[1]:
        for who, size, frames_at_once in course:
            peers[who].send(size)
            peers[who].receive(frames_at_once)
        while any(peer.stream or len(peer.frames) < len(wanted) for peer, wanted in zip(peers, contents, strict=True)):
            for peer in peers:
                peer.send(100_000)
                peer.receive(7)
        assert [peer.frames for peer in peers] == contents
    assert pool._in_use_bytes == 0, "a buffer was never given back"


def test_a_frame_is_valid_until_the_next_is_asked_for_even_if_its_connection_closes() -> None:
    pool = BufferPool()
    with Peer(bytearray(SHARED_BUFFER_BYTES), pool, framed(b"x" * 100_000)) as peer:
        frame = None
        while frame is None:
            peer.send(30_000)
            peer.receiver.receive()
            frame = peer.receiver.next_frame()
        peer.receiver.close()
        other = pool.take(100_000)
        assert other is not None
        other[:] = bytes(len(other))
        assert bytes(frame) == b"x" * 100_000
        assert pool._in_use_bytes == 2 * len(other)
        peer.receiver.hold()
        assert pool._in_use_bytes == len(other)


@pytest.mark.parametrize("length", [-1, 0, FRAME_MAX_BYTES + 1])
@pytest.mark.parametrize("ahead", [0, 1, 200])
def test_a_senseless_length_is_refused_wherever_it_comes(length: int, ahead: int) -> None:
    stream = framed(b"y" * 50) * ahead + struct.pack(">i", length)

    def converse(peer: Peer) -> None:
        for _ in range(100):
            peer.send(100_000)
            peer.receive(1000)

    with Peer(bytearray(SHARED_BUFFER_BYTES), BufferPool(), stream) as peer:
        with pytest.raises(BadFrame):
            converse(peer)
        assert peer.frames == [b"y" * 50] * ahead

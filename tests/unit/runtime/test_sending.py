"""Whatever frames are made of, and however little the socket takes at a time, their bytes arrive in order."""

import os
import socket
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream_log.file_slice import FileSlice, SegmentFile
from millstream_runtime.network.sockets.sending import COPIED_SLICE_MAX_BYTES, JOINED_MAX_BYTES, Sender

FILE_BYTES = 300_000
part_sizes = st.sampled_from([0, 1, 50, 3_000, JOINED_MAX_BYTES, JOINED_MAX_BYTES + 1, 200_000])
kinds = st.sampled_from(["bytes", "bytearray", "view", "slice"])
frames = st.one_of(st.integers(0, 500), st.lists(st.tuples(kinds, part_sizes), max_size=5))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sent") / "file"
    path.write_bytes(os.urandom(FILE_BYTES))
    return path


def part_of(kind: str, size: int, at: int, file: SegmentFile) -> bytes | bytearray | memoryview | FileSlice:
    if kind == "slice":
        return FileSlice(file, at, min(size, COPIED_SLICE_MAX_BYTES + 1))
    content = bytes([65 + at % 26]) * size
    return {"bytes": content, "bytearray": bytearray(content), "view": memoryview(content)}[kind]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(frames, st.sampled_from([0, 0, 1, 3]), st.integers(0, 300_000)), max_size=25))
def test_what_is_put_arrives(file: Path, course: list) -> None:
    """Each step: a frame (a number: one small frame of so many bytes), how often to flush, how many bytes the peer reads."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 30_000)
        ours.setblocking(False)
        theirs.setblocking(False)
        opened = SegmentFile(file, os.O_RDONLY)
        sender, expected, came = Sender(ours), bytearray(), bytearray()
        for at, (frame, flushes, read) in enumerate(course):
            if isinstance(frame, int):
                content = bytes([97 + at % 26]) * frame
                sender.put_small(content)
            else:
                parts = [part_of(kind, size, at, opened) for kind, size in frame]
                content = b"".join(part.read() if isinstance(part, FileSlice) else bytes(part) for part in parts)
                sender.put(parts)
            expected += struct.pack(">i", len(content)) + content
            for _ in range(flushes):
                _flush(sender)
            came += _read(theirs, read)
        while len(came) < len(expected):
            _flush(sender)
            came += _read(theirs, 100_000)
        assert came == expected
        assert sender.flush()
        assert sender.unsent_bytes == 0


def _flush(sender: Sender) -> None:
    sender.flush()
    if sender.loading is not None:
        sender.loading()


def _read(sock: socket.socket, size: int) -> bytes:
    try:
        return sock.recv(size) if size else b""
    except BlockingIOError:
        return b""

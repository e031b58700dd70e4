"""A topic of many small segments with records of every kind, and how far its files may be read."""

import time
from pathlib import Path

from broker import Sent, Topics

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC
SEGMENT_MS = 500
"""Of records' own time: a later batch begins a segment."""


def of_every_kind(topics: Topics, name: str) -> None:
    headers = (("trace", b"\x01"), ("trace", b""), ("none", None))
    start = 0
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        records = [
            Sent(n % 3, f"k{n}".encode() if n % 7 else None, b"v" * (n % 400) if n % 11 else None, MIDNIGHT_MS + n, headers if n % 2 else ())
            for n in range(start, start + 1500)
        ]  # fmt: skip
        topics.produce(name, records, codec=codec)
        topics.produce_in_transaction(name, records[:600], commit=False)
        topics.produce_in_transaction(name, records[:60], commit=True)
        start += 1500


def in_segments(topics: Topics, name: str, partitions: int, *, first_ms: int) -> None:
    """Write ten segments' worth into the first partitions, 30 records into each of them."""
    for chunk in range(10):
        sent_ms = first_ms + 2 * SEGMENT_MS * chunk
        topics.produce(name, [Sent(n % partitions, None, b"x" * 900, sent_ms) for n in range(30 * partitions)])


def closed_ends(directory: Path, name: str) -> dict[str, int]:
    """Return where the last segment of each partition begins, once the high watermarks on the disk are beyond."""
    deadline = time.monotonic() + 120
    while True:
        ends = {
            path.name.rpartition("-")[2]: max(int(log.stem) for log in path.glob("*.log"))
            for path in directory.glob(f"{name}-*")
        }
        # The broker writes it every few seconds.
        checkpoint = directory / "replication-offset-checkpoint"
        lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
        told = {words[1]: int(words[2]) for words in map(str.split, lines) if words[0] == name}
        if all(told.get(partition, -1) >= end for partition, end in ends.items()):
            return ends
        assert time.monotonic() < deadline, (told, ends)
        time.sleep(0.1)

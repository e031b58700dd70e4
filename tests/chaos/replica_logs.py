"""Reads the logs that replicas leave on their disks, in Kafka's own format: the headers of batches, no more."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from history import Stored

_HEADER = struct.Struct(">qiibIhiqqqhi")
"""Base offset, length, leader epoch, magic, CRC, attributes, delta of the last offset, two times, producer id, epoch, sequence."""
_LENGTH_FROM = 12
"""What a batch's length does not count: base offset and length themselves."""
_CRC_FROM = 21


def stored_logs(replica: str, logs: Path, partitions: dict[str, int]) -> Iterator[Stored]:
    """What one stopped broker has of these topics."""
    for topic, count in partitions.items():
        for partition in range(count):
            directory = logs / f"{topic}-{partition}"
            if directory.is_dir():
                segments = sorted(directory.glob("*.log"))
                batches = [batch for segment in segments for batch in _batches(segment.read_bytes())]
                yield Stored(replica, topic, partition, batches)


def _batches(content: bytes) -> Iterator[list[int]]:
    """Base offset, last offset, leader epoch, a digest of what nobody stamps, and the producer's numbers, for each whole batch."""
    position = 0
    while position + _HEADER.size <= len(content):
        base, length, epoch, _, crc, _, last_delta, _, _, *producer = _HEADER.unpack_from(content, position)
        end = position + _LENGTH_FROM + length
        if length <= 0 or end > len(content):
            return
        yield [base, base + last_delta, epoch, crc ^ zlib.crc32(content[position + _CRC_FROM : end]), *producer]
        position = end

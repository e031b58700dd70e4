"""Kafka's checkpoint files: a version, a count, and one line of numbers for each entry."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import DISK, Disk
from millstream_log.errors import CorruptFile

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"

NUMBER_MAX = (1 << 63) - 1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_lines(text: str, *, columns: int, path: Path) -> list[list[int]]:
    """Return the numbers of each entry of a version-0 file."""
    return [[_number(cell, path) for cell in cells] for cells in _rows(text, columns, path)]


def load_offsets(path: Path, disk: Disk = DISK) -> dict[TopicPartition, int]:
    """Read a file of offsets by partition; a file that is missing is empty."""
    try:
        text = read_file(path, disk).decode()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path}: {error}") from error
    offsets = {}
    for topic, partition, offset in _rows(text, 3, path):
        offsets[TopicPartition(topic, _number(partition, path))] = _number(offset, path)
    return offsets


def store_offsets(path: Path, offsets: Mapping[TopicPartition, int], disk: Disk = DISK) -> None:
    lines = ["0", str(len(offsets))]
    lines += [f"{key.topic} {key.partition} {offset}" for key, offset in sorted(offsets.items())]
    replace_file(path, ("\n".join(lines) + "\n").encode(), durable=True, disk=disk)


def _rows(text: str, columns: int, path: Path) -> list[list[str]]:
    lines = text.splitlines()
    if not lines:
        return []  # Kafka makes the file before it has anything to say
    if len(lines) < 2 or lines[0].strip() != "0" or _number(lines[1], path) != len(lines) - 2:
        raise CorruptFile(f"{path}: not a checkpoint of version 0")
    rows = [line.split() for line in lines[2:]]
    if any(len(row) != columns for row in rows):
        raise CorruptFile(f"{path}: an entry without its {columns} columns")
    return rows


def _number(cell: str, path: Path) -> int:
    try:
        number = int(cell)
    except ValueError:
        raise CorruptFile(f"{path}: {cell!r} is not a number") from None
    if not -NUMBER_MAX <= number <= NUMBER_MAX:
        raise CorruptFile(f"{path}: {cell} is larger than any offset")
    return number

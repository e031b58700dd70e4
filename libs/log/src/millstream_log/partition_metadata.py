"""The `partition.metadata` file: which topic, by id, a partition's directory belongs to."""

from pathlib import Path
from uuid import UUID

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import DISK, Disk
from millstream_log.errors import CorruptFile
from millstream_log.uuids import format_uuid, parse_uuid

_NAME = "partition.metadata"


def load_topic_id(directory: Path, disk: Disk = DISK) -> UUID | None:
    """Return the topic's id; None if the directory does not say."""
    path = directory / _NAME
    try:
        lines = dict(line.split(": ", 1) for line in read_file(path, disk).decode().splitlines())
        if lines["version"] != "0":
            raise CorruptFile(f"{path}: version {lines['version']}")
        return parse_uuid(lines["topic_id"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError) as error:
        raise CorruptFile(f"{path}: {error}") from error


def store_topic_id(directory: Path, topic_id: UUID, disk: Disk = DISK) -> None:
    content = f"version: 0\ntopic_id: {format_uuid(topic_id)}".encode()
    replace_file(directory / _NAME, content, durable=True, disk=disk)

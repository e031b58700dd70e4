"""Java-style `key=value` files, as far as data directories hold them."""

from collections.abc import Mapping
from pathlib import Path

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import DISK, Disk
from millstream_log.errors import CorruptFile


def load_properties(path: Path, disk: Disk = DISK) -> dict[str, str] | None:
    """Read the file; None if there is none."""
    try:
        text = read_file(path, disk).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path}: {error}") from error
    properties = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "!")):
            key, separator, value = line.partition("=")
            if not separator:
                raise CorruptFile(f"{path}: {line!r} is no property")
            properties[key.strip()] = value.strip()
    return properties


def store_properties(path: Path, properties: Mapping[str, str], disk: Disk = DISK) -> None:
    text = "#\n" + "".join(f"{key}={value}\n" for key, value in properties.items())
    replace_file(path, text.encode(), durable=True, disk=disk)

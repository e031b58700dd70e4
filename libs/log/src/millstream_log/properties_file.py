"""Java-style `key=value` files, as far as data directories hold them."""

from collections.abc import Mapping
from pathlib import Path

from millstream_log.atomic_file import replace_file
from millstream_log.errors import CorruptFile


def load_properties(path: Path) -> dict[str, str] | None:
    """Read the file; None if there is none."""
    try:
        text = path.read_text()
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


def store_properties(path: Path, properties: Mapping[str, str]) -> None:
    text = "#\n" + "".join(f"{key}={value}\n" for key, value in properties.items())
    replace_file(path, text.encode(), durable=True)

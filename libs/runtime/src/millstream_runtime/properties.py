"""Kafka-style properties: a file and `--set key=value`, read into plain text values that config dataclasses check.

    config = Properties.read(path, ["num.partitions=4"])
    num_partitions = config.integer("num.partitions", 1, least=1)
    ...
    config.refuse_unknown()

Each config's `from_properties` takes what it knows; a key that nobody took is an error, with its nearest known neighbour.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

logger = logging.getLogger(__name__)


class PropertyError(Exception):
    """A property is unknown, malformed or out of range: one clear line."""


class Properties:
    """Text values by key, and which of them somebody took."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._known: set[str] = set()

    @classmethod
    def read(cls, path: Path | None, settings: Iterable[str] = ()) -> "Properties":
        values = parse_file(path) if path is not None else {}
        for setting in settings:
            key, separator, value = setting.partition("=")
            if not separator or not key.strip():
                raise PropertyError(f"--set wants key=value, not {setting!r}")
            values[key.strip()] = value.strip()
        return cls(values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def known(self) -> frozenset[str]:
        """The keys that somebody asked for."""
        return frozenset(self._known)

    def as_dict(self) -> dict[str, str]:
        return dict(self._values)

    def text(self, key: str, default: str | None = None) -> str:
        """The value of a key; without a default the key must be set."""
        self._known.add(key)
        value = self._values.get(key, default)
        if value is None:
            raise PropertyError(f"{key} must be set")
        return value

    def optional(self, key: str) -> str | None:
        self._known.add(key)
        return self._values.get(key)

    def integer(
        self, key: str, default: int | None = None, *, least: int | None = None, most: int | None = None
    ) -> int:
        text = self.text(key, None if default is None else str(default))
        try:
            value = int(text)
        except ValueError:
            raise PropertyError(f"{key} must be a whole number, not {text!r}") from None
        if least is not None and value < least:
            raise PropertyError(f"{key} must be at least {least}, not {value}")
        if most is not None and value > most:
            raise PropertyError(f"{key} must be at most {most}, not {value}")
        return value

    def boolean(self, key: str, default: bool | None = None) -> bool:
        text = self.text(key, None if default is None else str(default)).lower()
        if text not in ("true", "false"):
            raise PropertyError(f"{key} must be true or false, not {text!r}")
        return text == "true"

    def texts(self, key: str, default: str | None = None) -> tuple[str, ...]:
        """A comma-separated list; empty items are left out."""
        return tuple(item.strip() for item in self.text(key, default).split(",") if item.strip())

    def addresses(self, key: str, default: str | None = None) -> tuple[tuple[str, int], ...]:
        """`host:port,host:port`."""
        return tuple(parse_address(key, item) for item in self.texts(key, default))

    def refuse_unknown(self, also_known: Iterable[str] = ()) -> None:
        """Raise on a key that no config asked for (`also_known`: those that exist but were not asked for this time)."""
        known = self._known | set(also_known)
        unknown = sorted(self._values.keys() - known)
        if not unknown:
            return
        # A start whose every key is known need not wait for these.
        from difflib import get_close_matches

        from millstream_runtime.kafka_properties import INSTEAD, PASSED_OVER

        for key in unknown:
            if key in INSTEAD:
                raise PropertyError(f"{key}: {INSTEAD[key]}")
            if key not in PASSED_OVER:
                near = get_close_matches(key, sorted(known), n=1)
                raise PropertyError(f"unknown property {key}" + (f" (did you mean {near[0]}?)" if near else ""))
        logger.warning("Kafka's properties without effect here names=%s", ",".join(unknown))


def parse_address(key: str, text: str) -> tuple[str, int]:
    """`host:port`, `[::1]:port` or Kafka's `NAME://host:port`."""
    host, separator, port = text.rpartition("://")[2].rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise PropertyError(f"{key} must be host:port, not {text!r}")
    return host.strip("[]"), int(port)


def parse_file(path: Path) -> dict[str, str]:
    """Java properties, the part that people use: `key=value` or `key: value` lines, `#` and `!` comments, `\\` joins lines."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PropertyError(f"cannot read {path}: {error}") from None
    values: dict[str, str] = {}
    for line in content.replace("\\\n", "").splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        position = min((at for at in (stripped.find("="), stripped.find(":")) if at >= 0), default=-1)
        if position <= 0:
            raise PropertyError(f"{path}: not key=value: {stripped!r}")
        values[stripped[:position].strip()] = stripped[position + 1 :].strip()
    return values

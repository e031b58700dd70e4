"""Profiles: addresses and client properties under a name, a file each that only its owner reads, and which of them is in use.

A profile is a file as Kafka's tools take by --command-config, with `bootstrap.servers` in it.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from millstream_client.errors import InvalidData
from millstream_runtime.properties import parse_file

BOOTSTRAP = "bootstrap.servers"
IN_USE = "MILLSTREAM_PROFILE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX = ".properties"


def profile_names() -> list[str]:
    directory = _directory()
    return (
        sorted(each.name.removesuffix(_SUFFIX) for each in directory.glob(f"*{_SUFFIX}")) if directory.is_dir() else []
    )


def read_profile(name: str) -> dict[str, str]:
    """Raises InvalidData, and PropertyError if somebody wrote in it what is no property."""
    path = _path(name)
    if not path.is_file():
        known = ", ".join(profile_names()) or "none"
        raise InvalidData(f"there is no profile {name}; there are: {known}")
    if path.stat().st_mode & 0o077:
        raise InvalidData(f"{path} is readable by others: chmod 600 {path}")
    return parse_file(path)


def write_profile(name: str, properties: Mapping[str, str]) -> Path:
    """Never readable by anybody else, not even for a moment."""
    path = _path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
    return path


def delete_profile(name: str) -> None:
    read_profile(name)
    _path(name).unlink()
    if chosen_profile() == name:
        _chosen_path().unlink(missing_ok=True)


def use_profile(name: str) -> None:
    read_profile(name)
    _chosen_path().write_text(f"{name}\n", encoding="utf-8")


def chosen_profile() -> str | None:
    """The one that $MILLSTREAM_PROFILE names, else the one that was last put to use."""
    named = os.environ.get(IN_USE)
    if named:
        return named
    try:
        return _chosen_path().read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def _directory() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "millstream" / "profiles"


def _chosen_path() -> Path:
    return _directory() / "in-use"


def _path(name: str) -> Path:
    if _NAME.fullmatch(name) is None:
        raise InvalidData(f"a profile's name is letters, digits, dots, dashes and underscores, not {name!r}")
    return _directory() / f"{name}{_SUFFIX}"

"""Which modules run compiled: for the first line of the log, and so that an old build never runs for a newer source."""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType

from millstream_runtime.service import ServiceFailed

SOURCES = "src"
"""The folder of a package in the workspace."""
_RECORDS = "millstream_wire.records.walk"  # where being compiled matters most


def records_build() -> str:
    """`compiled` or `plain`."""
    module = sys.modules.get(_RECORDS)
    return "compiled" if module is not None and _is_compiled(module) else "plain"


def refuse_stale() -> None:
    """Raise ServiceFailed if a module was compiled of an older source than the one that is here.

    In a workspace, where sources are edited. What an installer has written is of one build, in whatever order it wrote it.
    """
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("millstream_") and _is_compiled(module):
            made = Path(str(module.__file__))
            if made.parents[module.__name__.count(".")].name != SOURCES:
                continue
            source = made.with_name(made.name.partition(".")[0] + SOURCE_SUFFIXES[0])
            if source.exists() and source.stat().st_mtime > made.stat().st_mtime:
                raise ServiceFailed(f"{source} is newer than what was compiled of it: run `make setup`")


def _is_compiled(module: ModuleType) -> bool:
    return str(getattr(module, "__file__", None)).endswith(tuple(EXTENSION_SUFFIXES))

"""Imports that run when something of the module is first asked for, so that a process starts without what nobody asks."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


@contextmanager
def late_imports(package: str) -> Iterator[None]:
    """Within, modules of this package are found and named, but not run."""
    finder = _LateFinder(f"{package}.")
    sys.meta_path = [finder, *sys.meta_path]  # anew: another thread may be going through the old one
    try:
        yield
    finally:
        sys.meta_path = [each for each in sys.meta_path if each is not finder]


class _LateFinder:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith(self._prefix) else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec

"""Imports that run when something of the module is first asked for, so that a process starts without what nobody asks."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


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
            spec.loader = _LateLoader(spec.loader)
        return spec


class _LateLoader(Loader):
    """Unlike importlib's own: a module that could not be run is run again when asked next, and other threads wait until it has."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        spec.loader_state, spec.loader = False, self._loader
        module.__loader__ = self._loader
        module.__class__ = _LateModule


_running = threading.RLock()


class _LateModule(ModuleType):
    """A module that has not run yet. `loader_state` of its specification says whether it is being run, by the thread that holds the lock."""

    def __getattribute__(self, name: str) -> Any:
        with _running:
            spec = object.__getattribute__(self, "__spec__")
            if object.__getattribute__(self, "__class__") is _LateModule and not spec.loader_state:
                spec.loader_state = True
                try:
                    spec.loader.exec_module(self)
                    self.__class__ = ModuleType  # type: ignore[assignment]
                finally:
                    spec.loader_state = False
        return ModuleType.__getattribute__(self, name)  # not super(): this is not its class any more

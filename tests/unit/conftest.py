"""Settings for all unit tests, and the law that decisions only look."""

import functools
import importlib
import inspect
import io
import pickle
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from millstream_cluster.decision import Decision

# Examples are judged by their outcome, not by the clock of a busy machine. They are the same ones each time, so that a change is
# blamed for what it did; `make unit ARGS=--hypothesis-profile=searching` looks for others.
settings.register_profile("millstream", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None)
settings.load_profile("millstream")


DECIDERS = ("millstream_coordinator.core", "millstream_controller.core")


_watching: list[str] = []
"""The test that runs. Simulations, which decide a million times, are not watched."""


@pytest.fixture(autouse=True)
def _watch_decisions(request: pytest.FixtureRequest) -> Iterator[None]:
    _watching.append(request.node.nodeid)
    yield
    _watching.clear()


class _Fingerprint(pickle.Pickler):
    """All that an object holds, however deep."""

    def reducer_override(self, held: Any) -> Any:
        if isinstance(held, types.MappingProxyType):
            return dict, (dict(held),)
        return NotImplemented


def fingerprint(machine: Any) -> bytes:
    written = io.BytesIO()
    _Fingerprint(written).dump(machine)
    return written.getvalue()


def watched(decide: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which fails if the machine that it decides about is another when it is done."""

    @functools.wraps(decide)
    def deciding(machine: Any, *arguments: Any, **options: Any) -> Any:
        if not _watching:
            return decide(machine, *arguments, **options)
        before = fingerprint(machine)
        try:
            return decide(machine, *arguments, **options)
        finally:
            assert fingerprint(machine) == before, f"{decide.__module__}.{decide.__name__} writes while it decides"

    return deciding


def watch_decisions() -> list[str]:
    """Put a watched function in the place of every one that decides about a machine, wherever a module knows it by name."""
    modules = [
        importlib.import_module(each.name)
        for name in DECIDERS
        for each in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}.")
    ]
    watching: dict[Callable[..., Any], Callable[..., Any]] = {}
    for module in modules:
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and _decides(function):
                watching[function] = watched(function)
    for module in modules:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in watching:
                setattr(module, name, watching[value])
    return sorted(f"{function.__module__}.{function.__name__}" for function in watching)


def _decides(function: Callable[..., Any]) -> bool:
    result = typing.get_type_hints(function).get("return")
    takes_machine = next(iter(inspect.signature(function).parameters), "") in ("shard", "machine")
    return takes_machine and typing.get_origin(result) is Decision


WATCHED = watch_decisions()
"""Before any test imports them: in all unit tests, also those of whole services, a decision that writes is a failure."""


@pytest.fixture
def watched_decisions() -> list[str]:
    return WATCHED


@pytest.fixture
def watch() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return watched

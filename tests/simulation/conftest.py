"""What the tests of the simulation share."""

from collections.abc import Callable

import pytest

from millstream_cluster.records import ControllerElected
from millstream_controller.shell.active import Active, NotActive
from millstream_controller.shell.controller import Controller
from millstream_log import producer_snapshot, recovery
from millstream_log.producer_state import ProducerState
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape

Hunt = Callable[..., str]
SEEDS = range(1, 26)
UseProducers = Callable[[type[ProducerState]], None]


@pytest.fixture
def hunt() -> Hunt:
    """Run seeds until one breaks a promise, and return which promise; nothing if none does.

    The seed to begin with is one that is known to do: hunts are meant to be short. The others are for a simulation that changed.
    """

    def first_violation(kind: Kind, first: int = 1) -> str:
        shape = Shape(kinds=(kind,), partitions=3, trouble_s=20.0)
        found = (simulate(seed, shape).violation for seed in (first, *SEEDS))
        return next((violation for violation in found if violation is not None), "")

    return first_violation


@pytest.fixture
def use_producers(monkeypatch: pytest.MonkeyPatch) -> UseProducers:
    """Let logs know their producers by another class: compiled ones have subclasses, but cannot be patched."""

    def use(other: type[ProducerState]) -> None:
        for module in (recovery, producer_snapshot):
            monkeypatch.setattr(module, "ProducerState", other)

    return use


@pytest.fixture
def serve_unproven(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let controllers that know that they may have been deposed serve all the same."""

    def active(self: Controller) -> Active:
        if self._active is None:
            raise NotActive
        return self._active

    def serves(self: Controller, active: Active) -> bool:
        return self._active is active

    def elected(self: Controller) -> ControllerElected | None:
        return self._followed if self._active is None else self._active.log.image.controller

    def use() -> None:
        monkeypatch.setattr(Controller, "active", property(active))
        monkeypatch.setattr(Controller, "serves", serves)
        monkeypatch.setattr(Controller, "elected", property(elected))

    return use

"""Brokers with two data directories of which one fails, comes back or is replaced, while replicas move between them; and safeguards taken out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from millstream_broker.shell.partition.hosting import Hosting
from millstream_controller.core import healing
from millstream_controller.core.healing import Healing
from millstream_controller.core.nodes import nodes
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape
from millstream_simulation.shapes.directories import two_directories
from millstream_simulation.shapes.replicated import replicated

SEEDS = range(1, 9)
FAILING = two_directories(replicated(Kind.CLASSIC, ("fail-log-dir", "replace-log-dir", "kill-broker"), 20.0))
ALL_COUNT = replace(FAILING, settings={**FAILING.settings, "min.insync.replicas": "3"}, troubles=("fail-log-dir",))
"""Who leaves an ISR may lead all the same."""


def hunt(shape: Shape, first: int) -> str:
    """Run seeds, beginning with one that is known to find it, until one breaks a promise; nothing if none does."""
    found = (simulate(seed, shape).violation for seed in (first, *SEEDS))
    return next((violation for violation in found if violation is not None), "")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_is_there_whichever_directory_fails(seed: int) -> None:
    outcome = simulate(seed, FAILING)
    assert outcome.violation is None, str(outcome)
    for situation in (
        "log directory failed",
        "replica made again by its broker",
        "replica sent to another directory",
        "replica moved to another directory",
    ):
        assert outcome.situations[situation] > 0, situation


def test_a_broker_that_makes_again_what_nobody_has_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Hosting.on_directories_failed

    def hasty(self: Any, directories: Sequence[Any]) -> None:
        honest(self, directories)
        self._to_make.update(dict.fromkeys(self._partitions.offline))
        self._partitions.offline.clear()

    monkeypatch.setattr(Hosting, "on_directories_failed", hasty)
    assert hunt(FAILING, 2) != ""


def test_a_controller_that_gives_up_a_copy_that_somebody_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(self: Healing, partition: Any, loss: Any) -> list[Any]:
        return [
            node_id
            for node_id in sorted(loss.of(partition) - loss.gone)
            if self.directories.may_replace(node_id, partition.directory_of(node_id))
        ]

    monkeypatch.setattr(healing.Healing, "_at_home", hasty)
    found = hunt(ALL_COUNT, 2)
    assert "has lost nothing" in found or "may be elected, and does not have it" in found, found


def test_a_directory_that_fails_and_leaves_its_replicas_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = nodes.lose_directories
    monkeypatch.setattr(nodes, "lose_directories", lambda *of: honest(*of)[-1:])
    found = hunt(FAILING, 1)
    assert "its copy is in a directory that has failed" in found, found

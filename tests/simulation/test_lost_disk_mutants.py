"""Disks that lose what they held, with a safeguard taken out: the run ends at once and says which empty log is led."""

from dataclasses import replace
from typing import Any

import pytest

from millstream_broker.shell.partition import applied_metadata
from millstream_controller.core.nodes import nodes
from millstream_controller.core.partitions.change import PRESENT
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape

LOSING = Shape(
    kinds=(Kind.CLASSIC,),
    partitions=1,
    producers=1,
    members=1,
    trouble_s=15.0,
    troubles=("lose-directory", "kill"),
    exposed_topics=True,
    empty_disk=True,
)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_was_acknowledged_is_there_or_offline(seed: int) -> None:
    outcome = simulate(seed, LOSING)
    assert outcome.violation is None, str(outcome)
    for situation in "directory lost", "partition lost", "disk emptied", "empty disk noticed":
        assert outcome.situations[situation] > 0, situation


def test_a_broker_that_forgets_which_directories_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = applied_metadata._load

    def forgetful(*of: Any) -> Any:
        return replace(honest(*of), places={})

    monkeypatch.setattr(applied_metadata, "_load", forgetful)
    found = simulate(1, LOSING).violation or ""
    assert "exposed-2 was lost with its directory, and an empty log is led" in found, found


def test_an_empty_disk_taken_for_the_one_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_end_of", lambda *_: PRESENT)
    found = simulate(3, LOSING).violation or ""
    assert "may be elected and has up to 0" in found or "an empty log is led" in found, found

"""An active controller that loses the API server and its standbys, while brokers and coordinators still reach it."""

import pytest

from millstream_controller.shell.active import Active
from millstream_simulation.scenario import simulate
from millstream_simulation.shapes.kubernetes import stranded


@pytest.mark.parametrize("seed", [1, 2, 5, 10])
def test_nodes_follow_whoever_was_elected_and_keep_their_partitions(seed: int) -> None:
    """Seeds 2 and 10 lost acknowledged records of young topics, 1 and 5 left nodes with the deposed controller."""
    outcome = simulate(seed, stranded())
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["active controller stranded"] > 0
    assert outcome.situations["topic made in trouble"] > 0


def test_a_controller_that_is_believed_although_it_does_not_reach_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Active, "verified", True)
    found = [simulate(seed, stranded()).violation or "" for seed in (9, 10)]
    assert any("was removed from" in each or "follows controller epoch" in each for each in found), found

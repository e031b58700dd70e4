"""Power that goes at all brokers at the same moment: what is promised then, and what is not.

Each is a sentence of docs/operations.md, "What is promised when machines fail".
"""

from dataclasses import replace

import pytest

from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind
from millstream_simulation.shapes.flushed import flushed
from millstream_simulation.shapes.replicated import replicated

SEEDS = (1, 9, *range(2, 9))
"""Beginning with those that are known to show it: stories change."""
BLACK_OUT = replicated(Kind.CLASSIC, ("black-out",), 15.0)


def test_what_no_replica_had_flushed_is_lost() -> None:
    """Three of them had it, in their page caches. It shows in many ways; here as one offset that was acknowledged for two records."""
    found = (simulate(seed, BLACK_OUT).violation or "" for seed in SEEDS)
    assert any("acknowledged for" in violation for violation in found)


@pytest.mark.parametrize("before_visible", [False, True], ids=["flush.messages", "visible.after.flush"])
@pytest.mark.parametrize("kind", Kind)
def test_what_is_flushed_before_it_is_acknowledged_is_there(kind: Kind, before_visible: bool) -> None:
    """Groups and transactions go on from where they were, too."""
    outcome = simulate(1, flushed(replace(BLACK_OUT, kinds=(kind,)), before_visible=before_visible))
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["power lost everywhere"] > 0

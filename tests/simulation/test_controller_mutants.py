"""Controllers that were deposed and do not know, with a safeguard taken out: some seed must notice."""

from collections.abc import Callable

import pytest

from millstream_controller.shell.active import Active
from millstream_runtime.nodes.controllers import Address, KnownControllers
from millstream_simulation.scenario import simulate
from millstream_simulation.shapes.kubernetes import stranded


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_nodes_find_the_elected_controller_though_no_client_asks_for_it(seed: int) -> None:
    outcome = simulate(seed, stranded(quiet=True))
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["active controller stranded"] > 0
    assert outcome.situations["controller stepped aside"] > 0
    assert outcome.situations["node behind the elected controller"] > 0


def test_a_controller_that_believes_itself_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Active, "verified", True)
    found = simulate(2, stranded()).violation or ""
    assert "is believed as the controller of epoch 1" in found, found


def test_a_deposed_controller_that_answers_and_nodes_that_stay_with_it(
    monkeypatch: pytest.MonkeyPatch, serve_unproven: Callable[[], None]
) -> None:
    """And nobody goes by the highest epoch."""

    def saw(self: KnownControllers, epoch: int, address: Address | None = None) -> None:
        return

    serve_unproven()
    monkeypatch.setattr(KnownControllers, "saw", saw)
    # Seed 7 is one that is known to tell; the others are for a simulation that changed.
    violations = (simulate(seed, stranded(quiet=True)).violation for seed in (7, *range(1, 26)))
    found = next(filter(None, violations), "")
    assert "follows controller epoch" in found, found

"""The ring of slots under every order of appends, late writes, lost answers, snapshots and crashes; and rings that break there."""

from collections.abc import Callable

import pytest

from millstream_controller.core.ring import Ring, StoredSlot, Verdict
from millstream_simulation.explorer.explore import exhaust, wander
from millstream_simulation.explorer.ring import RingSystem

KINDS = {"Loads", "Appends", "TakesSnapshot", "Verifies", "Crashes", "Arrives", "Answered", "Breaks", "Lost"}


def test_nothing_that_was_acknowledged_is_lost_in_any_order_of_few_appends() -> None:
    explored = exhaust([RingSystem.of(appends=1)], steps_max=40)
    assert explored.broken is None, str(explored.broken)
    assert explored.complete
    assert explored.happened.keys() == KINDS


def test_nothing_that_was_acknowledged_is_lost_in_random_schedules() -> None:
    explored = wander(lambda: RingSystem.of(appends=4, breaks=3), seed=1, schedules=300, steps_max=60)
    assert explored.broken is None, str(explored.broken)
    assert explored.happened.keys() == KINDS


class Overfull(Ring):
    @property
    def full(self) -> bool:
        return False


class Credulous(Ring):
    """Takes whatever is in its slot for what it wrote."""

    def found(self, present: StoredSlot | None) -> Verdict:
        mine = self._outstanding
        assert mine is not None
        if present is not None and present.slot.sequence == mine.slot.sequence:
            return Verdict.DONE
        return super().found(present)


class Unfenced(Ring):
    """Takes itself for the only writer."""

    def deposed(self, present: StoredSlot | None) -> bool:
        return False


@pytest.mark.parametrize(
    ("mutant", "complaint"),
    [
        (Overfull, "is missing: its slot was deleted"),
        (Credulous, "was acknowledged and is lost"),
        (Unfenced, "is verified and knows"),
    ],
)
def test_a_ring_without_one_of_its_safeguards_is_found_out(mutant: Callable[[str, int], Ring], complaint: str) -> None:
    explored = exhaust([RingSystem.of(mutant, appends=4, crashes=0)], steps_max=40, states_max=20_000)
    assert explored.broken is not None, str(explored)
    assert complaint in explored.broken.complaint, str(explored.broken)

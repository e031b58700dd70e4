"""Three replicas of everything: brokers fail in all the ways there are, and what was acknowledged is there in the end."""

import pytest

from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind
from millstream_simulation.shapes.replicated import replicated

FAILING = ("kill-broker", "stop-broker", "cut-brokers", "slow-follower", "lose-disk", "lose-power-of-one")


@pytest.mark.parametrize(("kind", "seed"), [(Kind.CLASSIC, 1), (Kind.CONSUMER, 2), (Kind.TRANSACTIONS, 3)])
def test_what_was_acknowledged_is_there_whoever_fails(kind: Kind, seed: int) -> None:
    outcome = simulate(seed, replicated(kind, FAILING))
    assert outcome.violation is None, str(outcome)
    for situation in "ISR shrunk", "ISR expanded", "leader failed over", "record waited for replicas":
        assert outcome.situations[situation] > 0, situation


def test_an_empty_disk_is_filled_from_the_others() -> None:
    outcome = simulate(4, replicated(Kind.CLASSIC, ("lose-disk",)))
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["disk emptied"] > 0
    assert outcome.situations["ISR expanded"] > 0

"""The whole system under virtual time: a few seeds on every run, and the proof that a seed is a whole story."""

import os
import subprocess
import sys

import pytest

from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape, classic


@pytest.mark.parametrize("seed", range(1, 11))
def test_every_promise_is_kept(seed: int) -> None:
    outcome = simulate(seed, classic(25.0))
    assert outcome.violation is None, str(outcome)
    assert outcome.acknowledged > 100
    assert outcome.commits > 10


@pytest.mark.parametrize("seed", range(1, 6))
def test_every_promise_of_consumer_groups_is_kept(seed: int) -> None:
    outcome = simulate(seed, Shape(kinds=(Kind.CONSUMER,), trouble_s=20.0))
    assert outcome.violation is None, str(outcome)
    assert outcome.commits > 10


@pytest.mark.parametrize("kind", [Kind.TRANSACTIONS, Kind.GROUP_TRANSACTIONS])
@pytest.mark.parametrize("seed", range(1, 4))
def test_every_promise_of_transactions_is_kept(kind: Kind, seed: int) -> None:
    outcome = simulate(seed, Shape(kinds=(kind,), partitions=2, trouble_s=15.0))
    assert outcome.violation is None, str(outcome)
    assert outcome.transactions > 10


def test_the_same_seed_gives_the_same_digest_in_another_process() -> None:
    program = "from millstream_simulation.scenario import simulate; print(simulate(3))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    assert "digest" in runs.pop()

"""Leader and followers under every short schedule and many long ones; and leaders without one of their rules, which are found out.

A mutant is the machine's own text with one rule taken out: compiled classes can be neither patched nor subclassed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import millstream_broker.core.partition as package
from millstream_simulation.explorer.explore import exhaust, wander
from millstream_simulation.explorer.replication import ReplicationSystem

KINDS = {
    "Answered",
    "Appends",
    "Arrives",
    "Breaks",
    "Fetches",
    "Follows",
    "IsFenced",
    "IsUnfenced",
    "Learns",
    "LosesPatience",
    "LosesPower",
    "Lost",
}


def text_of(module: str) -> str:
    return (Path(str(package.__path__[0])) / f"{module}.py").read_text()


def mutated(rules: dict[str, tuple[str, str]]) -> Any:
    """`Partition`, made of the text of its modules with these rules changed."""
    made: dict[str, ModuleType] = {}
    for name in "progress", "isr", "standing":
        text = text_of(name)
        if name in rules:
            rule, other = rules[name]
            assert text.count(rule) == 1, f"{name}.py has no such rule any more: {rule}"
            text = text.replace(rule, other)
        module = ModuleType(f"mutant_{name}")
        sys.modules[module.__name__] = module
        for other_name in made:
            text = text.replace(f"millstream_broker.core.partition.{other_name}", f"mutant_{other_name}")
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
        made[name] = module
    return made["standing"].Partition


@pytest.fixture(autouse=True)
def _no_mutant_stays() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("mutant_")]:
        del sys.modules[name]


def test_no_promise_is_broken_by_any_short_schedule() -> None:
    system = ReplicationSystem.of(breaks=0, records=2, elections=1, crashes=1, fences=1, impatience=1)
    explored = exhaust([system], steps_max=6, states_max=200_000)
    assert explored.broken is None, str(explored.broken)
    assert explored.complete


def test_no_promise_is_broken_by_long_schedules() -> None:
    explored = wander(ReplicationSystem.of, seed=1, schedules=400, steps_max=60, states_max=0)
    assert explored.broken is None, str(explored.broken)
    assert explored.happened.keys() == KINDS


MUTANTS = {
    "waits live on under the next leader (hole 1)": {
        "standing": ("waits = self._commit_waits.take_all()", "waits: list[CommitWait] = []")
    },
    "who lacks what is committed joins (hole 2)": {
        "standing": (
            "required = max(self._marks.high_watermark, self._epoch_start_offset)",
            "required = self._epoch_start_offset",
        )
    },
    "who lacks what leaders before committed joins (hole 2)": {
        "standing": (
            "required = max(self._marks.high_watermark, self._epoch_start_offset)",
            "required = self._marks.high_watermark",
        )
    },
    "who was proposed does not hold back what is committed (hole 3)": {
        "standing": (
            "known, maximal = self._followers, self._in_sync.maximal",
            "known, maximal = self._followers, self._in_sync.committed",
        )
    },
    "a proposal counts as if it were taken (hole 3)": {
        "isr": ("return tuple(dict.fromkeys((*self.committed, *(member", "return tuple(dict.fromkeys((*(member")
    },
    "fetches under the leader before count": {"standing": ("        self._followers.clear()\n", "")},
    "too few are in sync, and it is committed nevertheless (KIP-966)": {
        "standing": (
            "return len(self._in_sync.committed) < self.min_insync_replicas",
            "return False",
        )
    },
    "a lost answer is taken for a refusal": {
        "isr": ("return _VERDICTS.get(code, Verdict.UNKNOWN)", "return _VERDICTS.get(code, Verdict.REFUSED)")
    },
    "a proposal for a state that is over is taken for refused": {
        "isr": (
            "ErrorCode.INVALID_UPDATE_VERSION: Verdict.OVERTAKEN",
            "ErrorCode.INVALID_UPDATE_VERSION: Verdict.REFUSED",
        )
    },
}


@pytest.mark.parametrize("rules", MUTANTS.values(), ids=MUTANTS)
def test_a_leader_without_one_of_its_rules_is_found_out(rules: dict[str, tuple[str, str]]) -> None:
    partition = mutated(rules)
    explored = wander(
        lambda: ReplicationSystem.of(partition, trusts=True), seed=1, schedules=3_000, steps_max=60, states_max=0
    )
    assert explored.broken is not None, str(explored)
    print(explored.broken)

"""Leader and followers under every short schedule and many long ones; and leaders without one of their rules, which are found out.

A mutant is the machine's own text with one rule taken out: compiled classes can be neither patched nor subclassed.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import millstream_broker.core.partition as package
from millstream_broker.core.partition.standing import Partition
from millstream_simulation.explorer import replica
from millstream_simulation.explorer.connections import Answered, Arrives, Breaks, Connection
from millstream_simulation.explorer.explore import exhaust, replayed, wander
from millstream_simulation.explorer.happenings import Appends, Follows, IsFenced, IsUnfenced, Learns
from millstream_simulation.explorer.replica import REPLICAS, Make
from millstream_simulation.explorer.replication import CONTROLLER, ReplicationSystem

KINDS = {
    "Answered",
    "Appends",
    "Arrives",
    "Breaks",
    "DiskFills",
    "DiskHasRoom",
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
    for name in "progress", "isr", "marks", "standing":
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
def _bounds_take_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, they take the real `Partition` only."""
    plain = ModuleType("plain_bounds")
    text = (Path(str(package.__path__[0])).parent / "reads" / "bounds.py").read_text()
    exec(compile(text, "bounds.py", "exec"), plain.__dict__)
    monkeypatch.setattr(replica, "follower_refusal", plain.follower_refusal)


@pytest.fixture(autouse=True)
def _no_mutant_stays() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("mutant_")]:
        del sys.modules[name]


def test_no_promise_is_broken_by_any_short_schedule() -> None:
    begins = [ReplicationSystem.of(isr=isr, breaks=1, records=1, elections=1, fences=1) for isr in (REPLICAS, (0, 1))]
    explored = exhaust(begins, steps_max=4)
    assert explored.broken is None, str(explored.broken)
    assert explored.complete


def test_no_promise_is_broken_by_long_schedules() -> None:
    explored = wander(
        lambda: ReplicationSystem.of(breaks=2, elections=3, full_disks=2),
        seed=1,
        schedules=300,
        steps_max=60,
        states_max=0,
    )
    assert explored.broken is None, str(explored.broken)
    assert explored.happened.keys() == KINDS


def test_a_request_that_arrives_after_its_repetition_was_refused_loses_nothing() -> None:
    """Found by a schedule: the late request let in a replica for which the leader did not wait any more."""
    first, second = (Connection("0", CONTROLLER, number) for number in range(2))
    fenced = (IsFenced(2), Arrives(second), Answered(second), IsUnfenced(2))
    trace = (Follows(2), Breaks(first), *fenced, Arrives(first), Appends(0), Follows(1), Follows(1))

    def begin(make: Make) -> ReplicationSystem:
        return ReplicationSystem.of(make, isr=(0, 1), elections=0, trusts=True)

    assert replayed(lambda: begin(Partition), trace) is None
    forgetful = mutated(
        {
            "isr": (
                "if verdict is Verdict.REFUSED and not (self.is_in_doubt and lets_in):",
                "if verdict is Verdict.REFUSED:",
            )
        }
    )
    broken = replayed(lambda: begin(forgetful), trace)
    assert broken is not None
    assert broken.complaint == "AssertionError: replica 2 may be elected and lacks what is committed"


def test_what_followers_had_under_another_leader_of_the_same_node_counts_for_nothing() -> None:
    """Node 0 leads, follows and leads again; node 1, which it last heard of before, has another record at the same offset."""
    begins = (Appends(0), Follows(1), Follows(2), Appends(0), Follows(1), Follows(1))
    another = (IsFenced(0, 2), Learns(2), IsUnfenced(0), Learns(0), Learns(0), Learns(2), Follows(0), Follows(0))
    back = (Arrives(Connection("2", CONTROLLER, 0)), IsFenced(2, 0), Learns(0), Learns(0), Appends(0))
    trace = (*begins, *another, *back)

    def begin(make: Make) -> ReplicationSystem:
        return ReplicationSystem.of(make, trusts=True)

    assert replayed(lambda: begin(Partition), trace) is None
    broken = replayed(lambda: begin(mutated({"standing": ("        self._followers.clear()\n", "")})), trace)
    assert broken is not None
    assert broken.trace == trace
    assert "may be elected and lacks what is committed" in broken.complaint


@dataclass(frozen=True)
class Mutant:
    module: str
    rule: str
    other: str
    bounds: dict[str, Any] = field(default_factory=dict)
    schedules: int = 4_000
    complaint: str = "may be elected and lacks what is committed"


JUST_JOINING: dict[str, Any] = {
    "isr": (0, 1), "records": 1, "elections": 0, "crashes": 0, "fences": 0, "impatience": 0
}  # fmt: skip
A_FULL_DISK: dict[str, Any] = {"full_disks": 1, "crashes": 0, "fences": 0}
MUTANTS = {
    "who says that it cannot append stays": Mutant(
        "standing",
        "if cannot_append:",
        "if False:",
        A_FULL_DISK,
        complaint="stays and cannot append",
    ),
    "who says that it cannot append joins": Mutant(
        "standing",
        "return (*effects, *self._leave_out([replica_id]))",
        "effects += self._leave_out([replica_id])",
        {**A_FULL_DISK, "isr": (0, 1)},
        complaint="joins and cannot append",
    ),
    "waits live on under the next leader (hole 1)": Mutant(
        "standing",
        "waits = self._commit_waits.take_all()",
        "waits: list[CommitWait] = []",
        {"elections": 3, "crashes": 0, "breaks": 0},
        complaint="is not committed",
        schedules=20_000,
    ),
    "who lacks what is committed joins (hole 2)": Mutant(
        "standing",
        "required = max(self._marks.high_watermark, self._epoch_start_offset)",
        "required = self._epoch_start_offset",
    ),
    "who lacks what leaders before committed joins (hole 2)": Mutant(
        "standing",
        "required = max(self._marks.high_watermark, self._epoch_start_offset)",
        "required = self._marks.high_watermark",
    ),
    "who was proposed does not hold back what is committed (hole 3)": Mutant(
        "standing",
        "known, maximal = self._followers, self._in_sync.maximal",
        "known, maximal = self._followers, self._in_sync.committed",
    ),
    "who is to leave holds back nothing any more (hole 3)": Mutant(
        "isr",
        "return tuple(dict.fromkeys((*self.committed, *(member.node_id for member in self.proposal.isr))))",
        "return tuple(member.node_id for member in self.proposal.isr)",
    ),
    "nobody looks again when the controller has answered (hole 3)": Mutant(
        "standing",
        "in_sync.learn(answer.isr)\n        return self._look_again()",
        "in_sync.learn(answer.isr)\n        return ()",
        {"trusts": False},
        complaint="",
    ),
    "too few are in sync, and it is committed nevertheless (KIP-966)": Mutant(
        "standing", "return len(self._in_sync.committed) < self.min_insync_replicas", "return False"
    ),
    "a lost answer is taken for a refusal": Mutant(
        "isr",
        "if verdict is Verdict.REFUSED and not (self.is_in_doubt and lets_in):",
        "if verdict is not Verdict.OVERTAKEN:",
        JUST_JOINING,
    ),
    "a marker decides before it is committed (hole 16)": Mutant(
        "marks",
        "        self._ended += ended\n",
        "",
        {"crashes": 0},
        complaint="takes a transaction for decided that is not",
    ),
    "a follower forgets which markers are not committed (hole 16)": Mutant(
        "standing",
        "            marks.grow(end_offset, size, first_unstable, ended)\n",
        "            marks.grow(end_offset, size, first_unstable)\n",
        {"crashes": 0},
        complaint="takes a transaction for decided that is not",
    ),
    "a restart forgets which markers are not committed (hole 16)": Mutant(
        "marks",
        "self._ended = [(marker, first) for marker, first in ended if marker >= high_watermark]",
        "self._ended = []",
        complaint="takes a transaction for decided that is not",
    ),
    "a fetch of an earlier life counts (KIP-903)": Mutant(
        "isr",
        "members = [IsrMember(node, int(_life(followers.get(node)))) for node in isr]",
        "members = [IsrMember(node, -1) for node in isr]",
        {"isr": (0, 1), "breaks": 0, "records": 1, "elections": 0, "fences": 0, "impatience": 0},
        20_000,
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_leader_without_one_of_its_rules_is_found_out(mutant: Mutant) -> None:
    partition = mutated({mutant.module: (mutant.rule, mutant.other)})
    bounds = {"trusts": True, **mutant.bounds}
    explored = wander(
        lambda: ReplicationSystem.of(partition, **bounds),
        seed=1,
        schedules=mutant.schedules,
        steps_max=60,
        states_max=0,
    )
    assert explored.broken is not None, str(explored)
    assert mutant.complaint in explored.broken.complaint, str(explored.broken)

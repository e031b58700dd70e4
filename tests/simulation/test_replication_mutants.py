"""Three replicas with a safeguard taken out: some seed must notice, and say what is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from millstream_broker.core.partition.follower import Answer, Effect, FetchFrom, Follow, Follower
from millstream_broker.shell.partition import applied_metadata
from millstream_broker.shell.replication import fetching
from millstream_controller.core.nodes import nodes
from millstream_controller.core.partitions.change import PRESENT, Cause, _Draft
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape
from millstream_simulation.shapes.replicated import replicated

SEEDS = range(1, 13)
FAILOVERS = replicated(Kind.CLASSIC, ("kill-broker", "cut-brokers", "slow-follower", "stop-broker"))
LOSSES = replicated(Kind.CLASSIC, ("lose-power-of-one", "lose-disk", "kill-broker"))
ALL_NEEDED = replace(LOSSES, settings={**LOSSES.settings, "min.insync.replicas": "3"})
"""Whoever leaves an ISR stays eligible."""
EXPOSED = replace(replicated(Kind.CLASSIC, ("lose-directory",)), exposed_topics=True)
ISOLATIONS = replicated(Kind.CLASSIC, ("isolate", "pause", "kill-broker", "cut-brokers"))


def hunt(shape: Shape, first: int = 1) -> str:
    """Run seeds, beginning with one that is known to find it, until one breaks a promise; nothing if none does."""
    found = (simulate(seed, shape).violation for seed in (first, *SEEDS))
    return next((violation for violation in found if violation is not None), "")


def test_a_life_without_a_proof_taken_for_one_that_ended_cleanly(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = nodes._end_of

    def trusting(*known: Any) -> Cause:
        cause = honest(*known)
        return cause if cause.lost else PRESENT

    monkeypatch.setattr(nodes, "_end_of", trusting)
    found = hunt(ALL_NEEDED, 2)
    assert "may be elected and has up to" in found, found


def test_an_empty_disk_taken_for_the_one_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(*_: Any) -> Cause:
        return PRESENT

    monkeypatch.setattr(nodes, "_end_of", trusting)
    found = hunt(LOSSES, 9)
    assert "may be elected and" in found, found


def test_a_broker_that_forgets_which_directories_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = applied_metadata._load

    def forgetful(*of: Any) -> Any:
        return replace(honest(*of), places={})

    monkeypatch.setattr(applied_metadata, "_load", forgetful)
    # Who lost a directory was killed: it is out of the ISR until it has copied, unless its proof is believed as well.
    monkeypatch.setattr(nodes, "_end_of", lambda *_: PRESENT)
    found = hunt(EXPOSED, 2)
    assert "may be elected and has up to" in found, found


def test_a_follower_that_keeps_what_its_leader_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def united(said: Answer) -> Answer:
        known = (said.error_code, said.high_watermark, said.log_start_offset)
        return Answer(*known, batches=said.batches, unreadable=said.unreadable)

    class Stubborn(Follower):
        def on_answer(self, asked: FetchFrom, answer: Answer, **known: Any) -> tuple[Effect, ...]:
            return super().on_answer(asked, united(answer), **known)

    monkeypatch.setattr(fetching, "Follower", Stubborn)
    assert hunt(ISOLATIONS, 2) != ""


def test_a_follower_that_takes_all_that_it_has_for_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rash(Follower):
        def on_answer(self, asked: FetchFrom, answer: Answer, **known: Any) -> tuple[Effect, ...]:
            effects = super().on_answer(asked, answer, **known)
            return tuple(
                Follow(1 << 40, each.log_start_offset) if isinstance(each, Follow) else each for each in effects
            )

    monkeypatch.setattr(fetching, "Follower", Rash)
    assert hunt(ISOLATIONS) != ""


def test_a_copy_that_is_lost_and_stays_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = _Draft._in_sync

    def forgiving(self: _Draft, cause: Cause) -> Any:
        return honest(self, replace(cause, lost=frozenset(), unclean=frozenset(), leaving=frozenset()))

    def eligible(self: _Draft, cause: Cause) -> None:
        had = {*self.before.isr, *self.before.eligible_leader_replicas}.difference(self.isr)
        self.elr = tuple(node for node in self.replicas if node in had)
        self.last_known = ()

    monkeypatch.setattr(_Draft, "_in_sync", forgiving)
    monkeypatch.setattr(_Draft, "find_eligible", eligible)
    found = hunt(ALL_NEEDED, 3)
    assert "may be elected and has up to" in found, found


def test_whoever_leaves_an_isr_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: _Draft, cause: Cause) -> None:
        self.elr, self.last_known = (), ()

    monkeypatch.setattr(_Draft, "find_eligible", forgetful)
    found = hunt(FAILOVERS)
    assert "has lost nothing" in found, found

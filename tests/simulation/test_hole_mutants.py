"""Holes in the design of replication that others fell into, each opened again: some seed must notice.

Which test stands for which hole is in docs/decisions/replication-holes.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from millstream.roles import Role
from millstream_broker.api import list_offsets, write_txn_markers
from millstream_broker.core import hosting
from millstream_broker.shell.partition import hosting as hosting_shell
from millstream_broker.shell.partition.hosting import Hosting
from millstream_controller.core.partitions import change
from millstream_log import cutting, log, producer_snapshot, recovery
from millstream_log.producer_state import AppendedBatch, ProducerState
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape
from millstream_simulation.shapes.replicated import replicated
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader

SEEDS = range(1, 13)
FAILOVERS = replicated(Kind.CLASSIC, ("kill-broker", "cut-brokers", "slow-follower", "stop-broker"))
ISOLATIONS = replicated(Kind.CLASSIC, ("isolate", "pause", "kill-broker", "cut-brokers"))
UNNOTICED = replicated(Kind.CLASSIC, ("kill-together",))
"""Brokers are killed, and back before a controller has noticed."""
LONELY = replicated(Kind.CLASSIC, ("isolate",), 60.0)
"""Leaders take what nobody copies, and are asked again for it."""
TRANSACTIONS = replicated(Kind.TRANSACTIONS, ("kill-broker", "cut-brokers"))
MOVES = replace(FAILOVERS, counts={**FAILOVERS.counts, Role.BROKER: 5})


def hunt(shape: Shape, first: int = 1) -> str:
    """Run seeds, beginning with one that is known to find it, until one breaks a promise; nothing if none does."""
    found = (simulate(seed, shape).violation for seed in (first, *SEEDS))
    return next((violation for violation in found if violation is not None), "")


# ---- who leads (hole 11) ----


def test_a_broker_that_leads_before_it_was_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(image: Any, *, node_id: int, hosted: Any) -> Sequence[object]:
        known = (image.partition(*key) for key in hosted)
        return [hosting.Update(each) for each in known if each and node_id in each.replicas]

    monkeypatch.setattr(hosting_shell, "plan_unproven", trusting)
    found = hunt(UNNOTICED)
    assert "was not registered in this life" in found or "is fenced" in found, found


def test_a_leader_that_was_told_that_it_is_fenced_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hosting, "on_session_lost", lambda _: None)
    found = hunt(ISOLATIONS, 3)
    assert "was told that it is fenced" in found, found


# ---- what a new leader says before it knows (hole 6) ----


def test_an_end_that_is_told_before_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_offsets, "is_follower", lambda _: True)
    found = hunt(FAILOVERS, 2)
    assert "watched ends at" in found, found


# ---- what is answered (hole 15) ----


def test_markers_that_are_answered_when_they_are_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(broker: Any, marker: Any, topic: str, index: int) -> ErrorCode:
        replica = broker.locate(topic, index)
        return replica if isinstance(replica, ErrorCode) else write_txn_markers._write(broker, replica, marker)

    monkeypatch.setattr(write_txn_markers, "_write_committed", at_once)
    assert hunt(TRANSACTIONS, 3) != ""


class Hasty(ProducerState):
    """Says of a batch that is here already that it is before everything: so it is committed, whatever is."""

    def check(self, header: BatchHeader) -> AppendedBatch | None:
        here = super().check(header)
        if here is None:
            return None
        return AppendedBatch(here.first_sequence, here.last_sequence, -1, -1 - here.base_offset, here.timestamp)


def test_repeated_batches_that_are_answered_before_they_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (recovery, producer_snapshot, cutting):
        monkeypatch.setattr(module, "ProducerState", Hasty)
    assert hunt(LONELY) != ""


# ---- what a cut takes with it (hole 17) ----


def test_a_cut_that_forgets_leader_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = log.find_cut

    def forgetful(*known: Any, **rest: Any) -> Any:
        return replace(honest(*known, **rest), has_history=False)

    monkeypatch.setattr(log, "find_cut", forgetful)
    found = hunt(LONELY)
    assert "leader epochs of" in found, found


# ---- replicas on the move (hole 21) ----


def test_what_was_acknowledged_is_there_while_replicas_move() -> None:
    outcome = simulate(1, MOVES)
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["reassignment begun"] > 0
    assert outcome.situations["reassignment complete"] > 0


def test_a_move_that_ends_before_who_comes_is_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(replicas: Any, adding: Any, removing: Any, isr: Any) -> Any:
        target = tuple(node for node in replicas if node not in removing)
        in_sync = tuple(node for node in isr if node not in removing)
        return (target, in_sync) if (adding or removing) and in_sync else None

    monkeypatch.setattr(change, "completed", hasty)
    assert hunt(MOVES) != ""


def test_who_comes_counted_in_sync_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = change._Draft._in_sync

    def hasty(draft: Any, electorate: Any, cause: Any) -> Any:
        coming = (node for node in draft.adding if node in electorate.live)
        return tuple(dict.fromkeys((*honest(draft, electorate, cause), *coming)))

    monkeypatch.setattr(change._Draft, "_in_sync", hasty)
    found = hunt(MOVES)
    assert "may be elected" in found, found


def test_a_copy_deleted_before_the_move_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = hosting._step

    def hasty(key: Any, image: Any, *, node_id: int, is_hosted: bool, **rest: Any) -> Sequence[object]:
        partition = image.partition(*key)
        if is_hosted and node_id in partition.removing_replicas:
            return (rest["unassigned"],)
        return tuple(honest(key, image, node_id=node_id, is_hosted=is_hosted, **rest))

    monkeypatch.setattr(hosting, "_step", hasty)
    found = hunt(MOVES)
    assert "was removed from" in found, found

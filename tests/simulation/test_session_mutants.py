"""Nodes that were shut out and come back, with a safeguard taken out: some seed must notice."""

from dataclasses import replace
from typing import Any

import pytest

from millstream_controller.api import broker_heartbeat
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Heartbeat
from millstream_coordinator.shell.shards.owned import OwnedShard, Surroundings
from millstream_coordinator.shell.shards.shards import Shards
from millstream_runtime.nodes.session import Session
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape

ISOLATING = Shape(kinds=(Kind.CLASSIC,), partitions=2, trouble_s=30.0, troubles=("isolate", "pause", "cut"))


def test_nodes_that_come_back_break_no_promise() -> None:
    outcome = simulate(4, ISOLATING)
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["node fenced"] > 0
    assert outcome.situations["shard served in a new session"] > 0


def test_a_node_let_in_that_knows_of_its_registration_and_not_of_its_fencing(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = broker_heartbeat.heartbeat

    def by_registration(machine: ControllerMachine, beat: Heartbeat) -> Any:
        node = machine.image.node(beat.node_id)
        if node is not None and node.epoch == beat.broker_epoch <= beat.metadata_offset < node.fenced_offset:
            beat = replace(beat, metadata_offset=node.fenced_offset)
        return honest(machine, beat)

    monkeypatch.setattr(broker_heartbeat, "heartbeat", by_registration)
    found = simulate(4, ISOLATING).violation or ""
    assert "its latest fencing is at" in found, found


def test_a_coordinator_that_goes_on_with_its_shards_in_its_next_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shards, "claim_again", lambda self: None)
    found = simulate(4, ISOLATING).violation or ""
    assert "as it was claimed at" in found, found


def test_a_shard_that_is_served_in_another_session_than_it_was_claimed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is lost while the shard is loaded."""
    honest = OwnedShard.__init__

    class Timeless:
        number = 0

        def __init__(self, session: Session) -> None:
            self._session = session

        @property
        def is_certain(self) -> bool:
            return self._session.is_certain

    def forgetful(self: OwnedShard[Any, Any], partition: Any, kind: Any, around: Surroundings) -> None:
        honest(self, partition, kind, replace(around, session=Timeless(around.session)))  # type: ignore[arg-type]

    monkeypatch.setattr(OwnedShard, "__init__", forgetful)
    found = (simulate(seed, ISOLATING).violation or "" for seed in (11, 106, 65, *range(12, 18)))
    assert any("as it was claimed at" in violation for violation in found), "known of the first two; stories change"

"""Nodes that were shut out and come back, with a safeguard taken out: some seed must notice."""

from dataclasses import replace
from typing import Any

import pytest

from millstream_controller.api import broker_heartbeat
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import Heartbeat
from millstream_simulation.scenario import simulate
from millstream_simulation.shape import Kind, Shape

ISOLATING = Shape(kinds=(Kind.CLASSIC,), partitions=2, trouble_s=30.0, troubles=("isolate", "pause", "cut"))


def test_nodes_that_come_back_break_no_promise() -> None:
    outcome = simulate(4, ISOLATING)
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["node fenced"] > 0


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

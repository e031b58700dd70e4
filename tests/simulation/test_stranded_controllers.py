"""An active controller that loses the API server and its standbys, while brokers and coordinators still reach it."""

from collections.abc import Callable, Mapping
from uuid import UUID

import pytest

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.applied_metadata import AppliedMetadata
from millstream_runtime.nodes.follower import Applied, MetadataFollower
from millstream_runtime.nodes.registration import Registration
from millstream_simulation.scenario import simulate
from millstream_simulation.shapes.kubernetes import stranded


@pytest.mark.parametrize("seed", [1, 2, 5, 10])
def test_nodes_follow_whoever_was_elected_and_keep_their_partitions(seed: int) -> None:
    """Seeds 2 and 10 lost acknowledged records of young topics, 1 and 5 left nodes with the deposed controller."""
    outcome = simulate(seed, stranded())
    assert outcome.violation is None, str(outcome)
    assert outcome.situations["active controller stranded"] > 0
    assert outcome.situations["topic made in trouble"] > 0


def test_what_a_deposed_controller_says_is_believed(
    monkeypatch: pytest.MonkeyPatch, serve_unproven: Callable[[], None]
) -> None:
    """Three things stand in the way, each of which is enough: it steps aside, brokers prove their metadata, and remember it."""

    async def at_once(self: MetadataFollower, registration: Registration) -> None:
        return

    def in_memory(
        self: AppliedMetadata, applied: Applied | None, places: Mapping[ReplicaKey, UUID] | None = None
    ) -> None:
        self.places = self.places if places is None else dict(places)

    serve_unproven()
    monkeypatch.setattr(MetadataFollower, "until_proven", at_once)
    monkeypatch.setattr(AppliedMetadata, "note", in_memory)
    found = simulate(2, stranded()).violation or ""
    assert "was removed from" in found, found

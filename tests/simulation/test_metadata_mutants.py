"""What a node knows of the metadata from its earlier lives, not looked at: some seed must notice."""

from collections.abc import Callable

import pytest

from millstream.simulation.shape import Kind
from millstream_runtime.follower import Applied, MetadataFollower

Hunt = Callable[..., str]


def test_a_store_that_was_put_back_and_is_believed(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    async def trusting(self: MetadataFollower, applied: Applied) -> None:
        self._unproven = None

    monkeypatch.setattr(MetadataFollower, "_prove", trusting)
    assert "was put back, and that changed" in hunt(Kind.CLASSIC)

"""What a node knows of the metadata from its earlier lives, not looked at: some seed must notice."""

from collections.abc import Callable

import pytest

from millstream_runtime.nodes.follower import Applied, MetadataFollower
from millstream_simulation.shape import Kind

Hunt = Callable[..., str]


def test_a_store_that_was_put_back_and_is_believed(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    async def trusting(self: MetadataFollower, applied: Applied) -> None:
        self._unproven = None

    monkeypatch.setattr(MetadataFollower, "_prove", trusting)
    assert "was put back, and that changed" in hunt(Kind.CLASSIC)

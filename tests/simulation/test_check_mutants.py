"""What is looked at after every event, with something wrong to see: the run ends at once and says what it is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from millstream_cluster.ids import PartitionEpoch
from millstream_cluster.records import MetadataRecord, PartitionCreated
from millstream_log.producer_state import ProducerState
from millstream_runtime.nodes import follower
from millstream_simulation.shape import Kind

Hunt = Callable[..., str]
UseProducers = Callable[[type[ProducerState]], None]


def test_metadata_that_is_applied_otherwise_than_it_was_committed(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    honest = follower.decode_record

    def careless(key: bytes | None, value: bytes | None) -> MetadataRecord:
        record = honest(key, value)
        if isinstance(record, PartitionCreated):
            return replace(record, partition_epoch=PartitionEpoch(record.partition_epoch + 1))
        return record

    monkeypatch.setattr(follower, "decode_record", careless)
    found = hunt(Kind.CLASSIC)
    assert "the committed log says something else" in found, found


class Careless(ProducerState):
    """Forgets which coordinator ended a transaction: a deposed one could end the next."""

    def end_transaction(self, header: Any, marker: Any, *, now_ms: Any) -> Any:
        aborted = super().end_transaction(header, marker, now_ms=now_ms)
        entry = self.entry(header.producer_id)
        assert entry is not None
        entry.coordinator_epoch = -1
        return aborted


def test_producers_that_are_not_what_the_batches_say(use_producers: UseProducers, hunt: Hunt) -> None:
    use_producers(Careless)
    found = hunt(Kind.TRANSACTIONS)
    assert "its batches say" in found, found

"""The offsets of a shard's groups that wait for the end of a transaction, and the producers whose transactions they are.

Part of a shard's state: `apply` alone writes it.
"""

from collections.abc import Iterator
from typing import assert_never

from millstream_coordinator.core.transactions.pending_records import (
    OffsetPending,
    PendingOffset,
    PendingRecord,
    ProducerSeen,
    SeenProducer,
)

PendingKey = tuple[str, str, int]
"""Group id, topic, partition."""


class Pending:
    """Invariant (`check`): no producer keeps an empty table; whoever has pending offsets is remembered."""

    def __init__(self) -> None:
        self.offsets: dict[int, dict[PendingKey, PendingOffset]] = {}
        self.producers: dict[int, SeenProducer] = {}

    def apply(self, record: PendingRecord) -> None:
        match record:
            case OffsetPending(producer_id, group_id, topic, partition, value):
                offsets = self.offsets.setdefault(producer_id, {})
                if value is None:
                    offsets.pop((group_id, topic, partition), None)
                else:
                    offsets[group_id, topic, partition] = value
                if not offsets:
                    del self.offsets[producer_id]
            case ProducerSeen(producer_id, value):
                if value is None:
                    self.producers.pop(producer_id, None)
                else:
                    self.producers[producer_id] = value
            case _:
                assert_never(record)

    def markers(self, producer_id: int) -> int:
        seen = self.producers.get(producer_id)
        return seen.markers if seen is not None else 0

    def of_group(self, group_id: str) -> Iterator[OffsetPending]:
        """What waits for the group."""
        for producer_id, offsets in self.offsets.items():
            for (group, topic, partition), value in offsets.items():
                if group == group_id:
                    yield OffsetPending(producer_id, group, topic, partition, value)

    def dropped(
        self, group_id: str, topic: str, partition: int, *, before: int | None = None
    ) -> Iterator[OffsetPending]:
        """The records that let go of what waits there (`before` that order), whoever's transaction it belongs to."""
        for producer_id, offsets in self.offsets.items():
            found = offsets.get((group_id, topic, partition))
            if found is not None and (before is None or found.order < before):
                yield OffsetPending(producer_id, group_id, topic, partition, None)

    def next_order(self, key: PendingKey) -> int:
        return 1 + max((offsets[key].order for offsets in self.offsets.values() if key in offsets), default=0)

    def check(self) -> None:
        assert all(self.offsets.values())
        assert self.offsets.keys() <= self.producers.keys()

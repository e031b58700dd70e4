"""Records of one partition on their way into batches: what a producer holds until they are acknowledged.

No I/O: when a batch is due, and what its bytes are, follows from its records and the time it is given.
"""

import asyncio
from collections import deque
from dataclasses import field
from typing import NamedTuple

from millstream_client.assignment import TopicPartition
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import Compression, Header, Record, encode_batch

_RECORD_OVERHEAD_BYTES = 24
_SEQUENCES = 1 << 31


class Delivered(NamedTuple):
    """Where a record is. The offset is -1 if the broker did not say (acks=0, or a duplicate it had forgotten)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Identity(NamedTuple):
    """What makes a producer idempotent."""

    producer_id: int
    epoch: int


NO_IDENTITY = Identity(-1, -1)


def size_of(key: bytes | None, value: bytes | None, headers: tuple[Header, ...]) -> int:
    """Bytes that a record takes, at most."""
    size = _RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += 10 + len(name.encode()) + len(content or b"")
    return size


@dataclass(slots=True, eq=False)
class Batch:
    """Invariant: once `encoded` its bytes never change, so that a broker recognizes them when they come again."""

    created_ms: int
    size: int = 0
    records: list[Record] = field(default_factory=list)
    waiting: "list[asyncio.Future[Delivered]]" = field(default_factory=list)
    encoded: bytes | None = None
    identity: Identity = NO_IDENTITY
    base_sequence: int = -1
    attempts: int = 0


class Lane:
    """The batches of one partition, in order; at most the first of them is on its way.

    Invariant: sequences of one identity have no gap, as far as batches were acknowledged.
    """

    __slots__ = ("_identity", "_sequence", "batches", "partition", "retry_at_ms", "sending")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self.sending = False
        self.retry_at_ms = 0
        self._identity = NO_IDENTITY
        self._sequence = 0

    def add(
        self, record: Record, waiting: "asyncio.Future[Delivered]", *, size: int, batch_bytes: int, now_ms: int
    ) -> bool:
        """Put a record into the last batch, or a new one; return whether one became ready by that."""
        last = self.batches[-1] if self.batches else None
        begun = last is None or last.encoded is not None or last.size + size > batch_bytes
        if last is None or begun:
            last = Batch(created_ms=now_ms)
            self.batches.append(last)
        last.records.append(record)
        last.waiting.append(waiting)
        last.size += size
        return last.size >= batch_bytes or (begun and len(self.batches) > 1)

    def encode_first(self, identity: Identity, compression: Compression) -> Batch:
        """The batch to send next, its bytes fixed the first time."""
        batch = self.batches[0]
        if batch.encoded is None:
            if identity != self._identity:
                self._identity, self._sequence = identity, 0
            if identity != NO_IDENTITY:
                batch.base_sequence = self._sequence
                self._sequence = (self._sequence + len(batch.records)) % _SEQUENCES
            batch.identity = identity
            batch.encoded = encode_batch(
                batch.records,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=batch.base_sequence,
                compression=compression,
            )
        batch.attempts += 1
        return batch

    def take_back(self, batch: Batch) -> None:
        """A batch was refused for certain: its sequences are free again."""
        if batch.identity == self._identity and batch.base_sequence >= 0:
            self._sequence = batch.base_sequence

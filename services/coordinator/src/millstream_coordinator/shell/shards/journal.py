"""A shard's log as its owner writes it: claims it, reads what is there, then appends with numbered batches.

The claim's epoch is the fence: from the moment the claim is in the log no earlier owner can add anything behind our back.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.shell.shards.partition import AppendRefused, ShardPartition
from millstream_runtime.replicated import Machine
from millstream_wire.codec import DecodeError
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import Record, check, decode_batch, encode_batch, split

logger = logging.getLogger(__name__)

SEQUENCE_MASK = 0x7FFFFFFF
RECORDS_PER_TICK = 1_000
"""Applied before others get their turn: loading a large shard must not stop the heartbeats of the rest."""

Encoded = tuple[bytes, bytes | None]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Codec(Generic[R]):
    """The bytes of one kind of shard's records; claims are among those of every kind."""

    encode: Callable[[R | ShardClaimed], Encoded]
    decode: Callable[[bytes | None, bytes | None], R | ShardClaimed | None]


class ShardJournal(Generic[R]):
    """A `Journal` for `Replicated`."""

    def __init__(
        self,
        partition: ShardPartition,
        codec: Codec[R],
        now_ms: Callable[[], int],
        *,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
    ) -> None:
        self.claimed = ShardClaimed(coordinator_id, producer_epoch)
        self._partition = partition
        self._codec = codec
        self._now_ms = now_ms
        self._producer_id = producer_id
        self._sequence = 0

    async def claim(self) -> int:
        """Write the first record under our epoch; its offset is where the log ends that there is to load."""
        offset = await self._append([self._codec.encode(self.claimed)])
        if offset < 0:
            raise AppendRefused(f"{self._partition.name}: the claim was taken before, who knows where")
        return offset

    async def load(self, shard: Machine, end_offset: int, buffer_bytes: int) -> int:
        """Apply every record before the claim; return how many."""
        position = count = 0
        while position < end_offset:
            found = await self._partition.read(position, buffer_bytes)
            if not found.data:
                position = max(position, found.log_start_offset)
                continue
            for batch in split(found.data, torn_tail=True):
                header = check(batch)
                position = header.base_offset + header.last_offset_delta + 1
                if header.is_control:
                    continue
                records = decode_batch(batch, header)
                for record in self._decoded(records):
                    shard.apply(record)
                count += len(records)
                if count % RECORDS_PER_TICK < len(records):
                    await asyncio.sleep(0)
        return count

    async def append(self, commands: Sequence[tuple[R, ...]]) -> None:
        for records in self._batched(commands):
            await self._append(records)

    async def _append(self, records: Sequence[Encoded]) -> int:
        now_ms = self._now_ms()
        batch = encode_batch(
            [Record(index, now_ms, key, value) for index, (key, value) in enumerate(records)],
            producer_id=self._producer_id,
            producer_epoch=self.claimed.producer_epoch,
            base_sequence=self._sequence,
        )
        offset = await self._partition.append(batch)
        self._sequence = (self._sequence + len(records)) & SEQUENCE_MASK
        return offset

    def _batched(self, commands: Iterable[tuple[R, ...]]) -> Iterator[list[Encoded]]:
        """As few batches as hold the commands, none of which is split; of several barriers in a batch one will do."""
        batch: list[Encoded] = []
        size, has_barrier = 0, False
        for command in commands:
            encoded = []
            for record in command:
                if isinstance(record, ShardClaimed):
                    if has_barrier:
                        continue
                    has_barrier = True
                encoded.append(self._codec.encode(record))
            added = sum(len(key) + len(value or b"") + 24 for key, value in encoded)
            if batch and size + added > COMMAND_BYTES_MAX:
                yield batch
                batch, size = [], 0
            batch += encoded
            size += added
        if batch:
            yield batch

    def _decoded(self, records: Iterable[Record]) -> Iterator[R | ShardClaimed]:
        for record in records:
            try:
                decoded = self._codec.decode(record.key, record.value)
            except DecodeError as error:
                # What is not ours must not take away what is.
                name = self._partition.name
                logger.warning("record skipped partition=%s offset=%d reason=%s", name, record.offset, error)
                continue
            if decoded is not None:
                yield decoded

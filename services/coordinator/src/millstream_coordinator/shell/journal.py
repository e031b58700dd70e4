"""A shard's log as its owner writes it: claims it, reads what is there, then appends with numbered batches.

The claim's epoch is the fence: from the moment the claim is in the log no earlier owner can add anything behind our back.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

from millstream_coordinator.core.record_format import COMMAND_BYTES_MAX, decode_record, encode_record
from millstream_coordinator.core.records import ShardClaimed, ShardRecord
from millstream_coordinator.core.shard import Shard
from millstream_coordinator.shell.partition import AppendRefused, OffsetsPartition
from millstream_wire.codec import DecodeError
from millstream_wire.records import Record, check, decode_batch, encode_batch, split

logger = logging.getLogger(__name__)

SEQUENCE_MASK = 0x7FFFFFFF
RECORDS_PER_TICK = 1_000
"""Applied before others get their turn: loading a large shard must not stop the heartbeats of the rest."""

Encoded = tuple[bytes, bytes | None]


class ShardJournal:
    """A `Journal` for `Replicated`."""

    def __init__(
        self,
        partition: OffsetsPartition,
        now_ms: Callable[[], int],
        *,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
    ) -> None:
        self.claimed = ShardClaimed(coordinator_id, producer_epoch)
        self._partition = partition
        self._now_ms = now_ms
        self._producer_id = producer_id
        self._sequence = 0

    async def claim(self) -> int:
        """Write the first record under our epoch; its offset is where the log ends that there is to load."""
        offset = await self._append([encode_record(self.claimed)])
        if offset < 0:
            raise AppendRefused(f"{self._partition.name}: the claim was taken before, who knows where")
        return offset

    async def load(self, shard: Shard, end_offset: int, buffer_bytes: int) -> int:
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
                for record in _decoded(records, self._partition.name):
                    shard.apply(record)
                count += len(records)
                if count % RECORDS_PER_TICK < len(records):
                    await asyncio.sleep(0)
        return count

    async def append(self, commands: Sequence[tuple[ShardRecord, ...]]) -> None:
        for records in _batched(commands):
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


def _batched(commands: Iterable[tuple[ShardRecord, ...]]) -> Iterator[list[Encoded]]:
    """As few batches as hold the commands, none of which is split; of several barriers in a batch one will do."""
    batch: list[Encoded] = []
    size, has_barrier = 0, False
    for command in commands:
        encoded = []
        for record in command:
            if isinstance(record, ShardClaimed) and has_barrier:
                continue
            has_barrier |= isinstance(record, ShardClaimed)
            encoded.append(encode_record(record))
        added = sum(len(key) + len(value or b"") + 24 for key, value in encoded)
        if batch and size + added > COMMAND_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch += encoded
        size += added
    if batch:
        yield batch


def _decoded(records: Iterable[Record], name: str) -> Iterator[ShardRecord]:
    for record in records:
        try:
            decoded = decode_record(record.key, record.value)
        except DecodeError as error:
            # Anyone may produce to this topic; what is not ours must not take the groups away that are.
            logger.warning("record skipped partition=%s offset=%d reason=%s", name, record.offset, error)
            continue
        if decoded is not None:
            yield decoded

"""The committed log as this controller serves it: its recent batches, its snapshot, and who waits for more.

It also folds what is committed into an Image of its own, apart from the machine's, which may be ahead of it: snapshots and
followers only ever get what is committed.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord
from millstream_controller.shell.batches import decode_records, snapshot_batches
from millstream_controller.shell.store import Loaded, Snapshot
from millstream_controller.shell.told_records import all_told, told
from millstream_wire.records import parse_header

KEPT_BYTES_MAX = 16 << 20
NO_EPOCH = -1


async def _encoded(batches: Iterable[bytes], end_offset: int, epoch: int) -> Snapshot:
    parts: list[bytes] = []
    for batch in batches:
        parts.append(batch)
        await asyncio.sleep(0)
    return Snapshot(end_offset, epoch, b"".join(parts))


class MetadataLog:
    """Invariant: the kept batches follow each other without gaps from `start_offset` to `end_offset`."""

    def __init__(self, loaded: Loaded) -> None:
        self.snapshot = loaded.snapshot
        self.image = Image()
        if loaded.snapshot is not None:
            records = (record for _, record in decode_records(loaded.snapshot.data))
            self.image = Image.of(records, loaded.snapshot.end_offset - 1)
        self.start_offset = self.end_offset
        self._batches: list[bytes] = []
        self._ends: list[int] = []  # the offset after each batch
        self._epochs: list[int] = []  # the epoch that appended each
        self._all_told: list[bool] = []  # whether clients may see each as it is
        self._start_epoch = loaded.snapshot.epoch if loaded.snapshot is not None else NO_EPOCH
        self._kept_bytes = 0
        self._more = asyncio.Event()
        for batch in loaded.batches:
            self.committed(batch, [record for _, record in decode_records(batch)])

    @property
    def end_offset(self) -> int:
        """The high watermark: everything before it is committed."""
        return self.image.offset + 1

    @property
    def epoch(self) -> int:
        return self.image.controller.epoch if self.image.controller is not None else 0

    def committed(self, batch: bytes, records: Sequence[MetadataRecord]) -> None:
        """One more batch is in the store."""
        header = parse_header(batch)
        if header.base_offset != self.end_offset:
            raise ValueError(f"a batch at offset {header.base_offset} where the log ends at {self.end_offset}")
        for offset, record in enumerate(records, header.base_offset):
            self.image.apply(record, offset)
        self._batches.append(batch)
        self._ends.append(header.next_offset)
        self._epochs.append(header.leader_epoch)
        self._all_told.append(all_told(records))
        self._kept_bytes += len(batch)
        self._more.set()
        self._more = asyncio.Event()

    def follow(self, batch: bytes) -> None:
        """A controller that serves nobody from this log learns of one more batch: only what the records say is kept."""
        for offset, record in decode_records(batch):
            if offset > self.image.offset:
                self.image.apply(record, offset)

    def take_snapshot(self, timestamp_ms: int) -> Callable[[], Coroutine[Any, Any, Snapshot]]:
        """Return what encodes the snapshot of what is committed now, bit by bit, while others are served and commit more."""
        level, epoch = self.image.metadata_version, self.epoch
        batches = snapshot_batches(self.image.records(), level=level, epoch=epoch, timestamp_ms=timestamp_ms)
        return partial(_encoded, batches, self.end_offset, epoch)

    def begin_with(self, snapshot: Snapshot) -> None:
        """The store begins with this snapshot now; of what it covers only the most recent part is kept for followers."""
        self.snapshot = snapshot
        covered = bisect_right(self._ends, snapshot.end_offset)
        count = 0
        while count < covered and self._kept_bytes > KEPT_BYTES_MAX:
            self._kept_bytes -= len(self._batches[count])
            self.start_offset, self._start_epoch = self._ends[count], self._epochs[count]
            count += 1
        del self._batches[:count], self._ends[:count], self._epochs[:count], self._all_told[:count]

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one if there is any."""
        first = bisect_right(self._ends, offset)
        return b"".join(self._batches[first : self._after(first, max_bytes)])

    def tell(self, offset: int, max_bytes: int) -> tuple[bytes, int]:
        """What clients may see of the batches that `read` gives, and the offset after these; the asked one at the log's end."""
        first = bisect_right(self._ends, offset)
        after = self._after(first, max_bytes)
        parts = [
            batch if is_told else told(batch)
            for batch, is_told in zip(self._batches[first:after], self._all_told[first:after], strict=True)
        ]
        return b"".join(parts), self._ends[after - 1] if after > first else offset

    def _after(self, first: int, max_bytes: int) -> int:
        """Up to which batch so many bytes reach, one of them at least."""
        size = 0
        for index, batch in enumerate(islice(self._batches, first, None), first):
            size += len(batch)
            if index > first and size > max_bytes:
                return index
        return len(self._batches)

    def epoch_before(self, offset: int) -> int:
        """The epoch that appended what precedes `offset`; -1 at the log's very beginning."""
        count = bisect_right(self._ends, offset)
        if count and self._ends[count - 1] == offset:
            return self._epochs[count - 1]
        return self._start_epoch if offset <= self.start_offset else self._epochs[count]

    async def wait_beyond(self, offset: int, timeout_ms: int) -> None:
        """Return when there is something at `offset`, or when the time is over."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while self.end_offset <= offset:
                    await self._more.wait()
        except TimeoutError:
            return

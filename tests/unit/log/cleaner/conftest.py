"""A log that is compacted the way the broker does it, all steps in a row."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream_log import Log, LogConfig
from millstream_log.cleaner import (
    Cleaned,
    Cleaning,
    Compaction,
    find_cleanable,
    replace_segments,
    settle_replacement,
)
from millstream_wire.records import EndMarker, Record, check, decode_batches, encode_batch

HOUR_MS = 3_600_000


class CompactedLog:
    def __init__(self, directory: Path, config: LogConfig, compaction: Compaction) -> None:
        self.directory = directory
        self.config = config
        self.compaction = compaction
        self.now_ms = 1_000_000
        self.first_dirty_offset = 0
        self.log = Log.open(directory, config, now_ms=self.now_ms)
        self._sequences: dict[int, int] = {}

    def append(self, *records: tuple[bytes | None, bytes | None], producer_id: int = -1, **fields) -> int:
        """Append a batch of keys and values; return its first offset."""
        identity = {}
        if producer_id >= 0:
            sequence = self._sequences.get(producer_id, 0)
            self._sequences[producer_id] = sequence + len(records)
            identity = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        made = [Record(-1, self.now_ms, key, value) for key, value in records]
        batch = bytearray(encode_batch(made, **identity, **fields))
        return self.log.append(batch, check(batch), leader_epoch=0, now_ms=self.now_ms).base_offset

    def put(self, key: bytes, value: bytes | None = b"", **fields) -> int:
        return self.append((key, value), **fields)

    def end_transaction(self, producer_id: int, *, committed: bool) -> int:
        marker = EndMarker(committed=committed, coordinator_epoch=0).encode(self.now_ms)
        batch = bytearray(
            encode_batch([marker], producer_id=producer_id, producer_epoch=0, transactional=True, control=True)
        )
        return self.log.append_control(batch, check(batch), leader_epoch=0, now_ms=self.now_ms).base_offset

    def roll(self) -> None:
        self.log.roll(self.now_ms)

    def clean(self, *, keys_bytes_max: int = 1 << 20, before_swap: Callable[[Cleaned], None] | None = None) -> bool:
        """Clean what can be, no matter how little is dirty; return whether it went through."""
        unstable = self.log.first_unstable_offset
        cleanable = find_cleanable(
            self.log.segments,
            self.compaction,
            first_dirty_offset=self.first_dirty_offset,
            stable_offset=self.log.log_end_offset if unstable is None else unstable,
            now_ms=self.now_ms,
        )
        if cleanable.end_offset <= cleanable.first_dirty_offset:
            return False
        cleaning = Cleaning(self.log, cleanable, self.compaction, keys_bytes_max=keys_bytes_max, now_ms=self.now_ms)
        for step in cleaning.steps():
            if isinstance(step, Cleaned):
                if before_swap is not None:
                    before_swap(step)
                if not replace_segments(self.log, step):
                    return False
                for path in settle_replacement(self.log, step):
                    path.unlink()
        self.first_dirty_offset = cleaning.cleaned_end_offset
        self.log.check()
        return True

    def reopen(self, *, clean: bool = False) -> None:
        if clean:
            self.log.close()
        else:
            self.log.abandon()
        self.log = Log.open(
            self.directory,
            self.config,
            now_ms=self.now_ms,
            clean=clean,
            recovery_point=self.log.recovery_point,
            log_start_offset=self.log.log_start_offset,
            may_have_gaps=True,
        )
        self.log.check()

    def batches(self) -> list[bytes]:
        """Everything that a reader from the start is given."""
        found = []
        offset = self.log.log_start_offset
        while (read := self.log.read(offset, 500)) is not None:
            data = read.slice.read()
            while data:
                size = int.from_bytes(data[8:12], "big") + 12
                found.append(data[:size])
                data = data[size:]
            offset = read.next_offset
        return found

    def records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        return [
            (record.offset, record.key, record.value) for batch in self.batches() for record in decode_batches(batch)
        ]

    def offsets(self) -> list[int]:
        return [offset for offset, _, _ in self.records()]


@pytest.fixture
def compacted(tmp_path: Path) -> Callable[..., CompactedLog]:
    def make(*, segment_bytes: int = 100_000, **compaction) -> CompactedLog:
        config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=150)
        return CompactedLog(tmp_path / "orders-0", config, Compaction(**compaction))

    return make

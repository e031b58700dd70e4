"""Any sequence of appends, cuts, crashes and reopenings, against a list that does the same."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millstream_log import Log, LogConfig
from millstream_wire.records import Record, check, decode_batches, encode_batch

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=150)
PRODUCERS = 2


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.log = Log.open(self.directory, CONFIG, now_ms=0)
        self.batches: list[list[Record]] = []  # what the log holds, cut or not
        self.sequences: list[tuple[int, int, int]] = []  # offset, producer and next sequence after each of its batches
        self.start = 0
        self.epoch = 0
        self.clock = 1000

    def teardown(self) -> None:
        self.log.abandon()
        shutil.rmtree(self.directory)

    @property
    def end(self) -> int:
        return max(self.batches[-1][-1].offset + 1 if self.batches else 0, self.start)

    def next_sequence(self, producer_id: int) -> int:
        return max((sequence for _, producer, sequence in self.sequences if producer == producer_id), default=0)

    @rule(count=st.integers(1, 3), size=st.integers(0, 200), back_ms=st.integers(0, 5), producer=st.integers(-1, 1))
    def append(self, count: int, size: int, back_ms: int, producer: int) -> None:
        self.clock += 3
        timestamp = self.clock - back_ms
        records = [Record(-1, timestamp + i, b"%d" % i, bytes(size)) for i in range(count)]
        identity = {}
        if producer >= 0:
            sequence = self.next_sequence(producer)
            identity = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence}
            self.sequences.append((self.end, producer, sequence + count))
        batch = bytearray(encode_batch(records, **identity))
        result = self.log.append(batch, check(batch), leader_epoch=self.epoch, now_ms=0)
        assert not result.is_duplicate
        assert result.base_offset == self.end
        self.batches.append(
            [Record(result.base_offset + i, r.timestamp, r.key, r.value) for i, r in enumerate(records)]
        )

    @rule()
    def roll(self) -> None:
        self.log.roll(0)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @rule()
    def lead_anew(self) -> None:
        self.epoch += 1

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        self.log.truncate_to(offset, now_ms=0)
        if offset == self.end:
            return
        end = min(batch[0].offset for batch in self.batches if batch[-1].offset >= offset)
        if end < self.start:  # nothing that can be read is left
            end = 0
        self.batches = [batch for batch in self.batches if batch[0].offset < end]
        self.sequences = [each for each in self.sequences if each[0] < end]

    @precondition(lambda self: len(self.log.segments) > 1)
    @rule(data=st.data())
    def delete_segments(self, data: st.DataObject) -> None:
        self.log.doom_segments(data.draw(st.integers(1, len(self.log.segments) - 1)))
        self.start = max(self.start, self.log.segments[0].base_offset)
        self.batches = [batch for batch in self.batches if batch[0].offset >= self.log.segments[0].base_offset]

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        self.start = data.draw(st.integers(self.start, self.end))
        self.log.advance_start(self.start)

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        if clean:
            self.log.close()
        else:
            self.log.abandon()
        self.log = Log.open(
            self.directory,
            CONFIG,
            now_ms=0,
            clean=clean,
            recovery_point=self.log.recovery_point,
            log_start_offset=self.start,
        )

    @rule(data=st.data(), max_bytes=st.sampled_from([1, 100, 500, 10_000]))
    def read(self, data: st.DataObject, max_bytes: int) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        found = self.log.read(offset, max_bytes)
        wanted = [record for batch in self.batches if batch[-1].offset >= offset for record in batch]
        if found is None:
            assert not wanted
            return
        records = list(decode_batches(found.slice.read()))
        assert records == wanted[: len(records)]
        assert records[-1].offset + 1 == found.next_offset

    @rule(data=st.data())
    def look_up_time(self, data: st.DataObject) -> None:
        timestamp = data.draw(st.integers(990, self.clock + 5))
        found = self.log.offset_for_timestamp(timestamp)
        records = (record for batch in self.batches for record in batch if record.offset >= self.start)
        wanted = next((record.offset for record in records if record.timestamp >= timestamp), None)
        assert (found.offset if found else None) == wanted

    @invariant()
    def the_log_is_the_list(self) -> None:
        self.log.check()
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        for producer_id in range(PRODUCERS):
            entry = self.log.producer(producer_id)
            assert (entry.last_sequence + 1 if entry else 0) == self.next_sequence(producer_id)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)

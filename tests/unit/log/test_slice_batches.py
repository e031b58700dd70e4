import pytest

from millstream_log import Log, LogConfig, batches_of
from millstream_wire.records import Record, check, encode_batch


@pytest.fixture
def log(tmp_path):
    log = Log.open(tmp_path / "orders-0", LogConfig(), now_ms=0)
    for count in (2, 3, 1):
        records = [Record(offset=0, timestamp=1, key=None, value=b"x" * 5_000) for _ in range(count)]
        batch = bytearray(encode_batch(records))
        log.append(batch, check(batch), leader_epoch=0, now_ms=0)
    yield log
    log.abandon()


def test_the_batches_of_a_read_are_found_and_cut_out_of_it(log) -> None:
    read = log.read(3, 1 << 20)
    batches = batches_of(read.slice)
    assert [(batch.header.base_offset, batch.header.next_offset) for batch in batches] == [(2, 5), (5, 6)]
    last = batches[-1]
    part = read.slice.part(last.position, last.header.size)
    assert check(part.read()).base_offset == 5


def test_only_as_many_as_are_wanted_are_looked_at(log) -> None:
    read = log.read(0, 1 << 20)
    for until, found in ((1, 1), (2, 1), (3, 2), (5, 2), (6, 3), (99, 3)):
        assert len(batches_of(read.slice, until=until)) == found

"""What is committed of a partition, and replicas that have it, have it otherwise, or have not all of it."""

from pathlib import Path

import pytest

from millstream_log import Log, LogConfig
from millstream_simulation.checks.replicas.committed import Committed
from millstream_simulation.checks.replicas.held import Held
from millstream_simulation.story import Violation
from millstream_wire.records import Record, check, encode_batch


def append(log: Log, *values: bytes, epoch: int = 0) -> None:
    for value in values:
        batch = bytearray(encode_batch([Record(offset=0, timestamp=0, key=None, value=value)]))
        log.append(batch, check(batch), leader_epoch=epoch, now_ms=0)


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Log, Log]:
    one, other = (Log.open(tmp_path / name, LogConfig(), now_ms=0) for name in ("one", "other"))
    return one, other


@pytest.fixture
def committed(logs: tuple[Log, Log]) -> Committed:
    """Three records, of which the first log has four."""
    append(logs[0], b"a", b"b", b"c", b"d")
    held = Held(logs[0])
    held.follow()
    found = Committed("t-0")
    found.extend(held, 3)
    return found


def held(log: Log) -> Held:
    found = Held(log)
    found.follow()
    return found


def judge(committed: Committed, log: Log, *, compacts: bool = False) -> None:
    committed.judge("broker-2", held(log), 0, committed.end, compacts=compacts)


def test_a_replica_may_end_otherwise_behind_what_is_committed(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"b", b"c", b"x")
    judge(committed, logs[1])


def test_a_replica_with_another_record_is_found_out(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"x", b"c")
    with pytest.raises(Violation, match=r"broker-2 has Batch.base=1, .* where Batch.base=1, .* is committed"):
        judge(committed, logs[1])


def test_a_replica_with_the_record_of_another_epoch_is_found_out(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"b")
    append(logs[1], b"c", epoch=1)
    with pytest.raises(Violation, match="epoch=1"):
        judge(committed, logs[1])
    with pytest.raises(Violation, match="epoch=1"):
        judge(committed, logs[1], compacts=True)


def test_a_replica_that_has_not_all_of_it_is_found_out(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"b")
    with pytest.raises(Violation, match="broker-2 has nothing at 2, and up to 3 is committed"):
        judge(committed, logs[1])


def test_a_gap_is_found_out_but_in_a_compacted_log(logs: tuple[Log, Log], committed: Committed) -> None:
    one, other = logs
    append(other, b"a")
    read = one.read(2, 1 << 10, end_offset=3)
    assert read is not None
    batch = read.slice.read()
    read.slice.release()
    other.append_as_follower(batch, check(batch), now_ms=0)
    with pytest.raises(Violation, match="broker-2 has nothing at 1, where"):
        judge(committed, other)
    judge(committed, other, compacts=True)


def test_what_was_cut_off_and_written_anew_is_read_anew(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"x", b"y")
    found = held(logs[1])
    logs[1].truncate_to(1, now_ms=0)
    assert found.follow() == []
    append(logs[1], b"b", b"c")
    assert [batch.base for batch in found.follow()] == [1, 2]
    committed.judge("broker-2", found, 0, 3, compacts=False)


def test_an_unclean_election_takes_back_what_was_committed(logs: tuple[Log, Log], committed: Committed) -> None:
    append(logs[1], b"a", b"x")
    committed.cut(1)
    committed.extend(held(logs[1]), 2)
    judge(committed, logs[1])

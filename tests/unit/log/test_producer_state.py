from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_log import CorruptFile, InvalidProducerEpoch, OutOfOrderSequence, TransactionCoordinatorFenced
from millstream_log.producer_snapshot import load_snapshot, snapshot_offsets, snapshot_path, store_snapshot
from millstream_log.producer_state import ProducerState
from millstream_wire.records import EndMarker

LAST = (1 << 31) - 1


def appended(
    state: ProducerState,
    make,
    *sequences: int,
    epoch: int = 0,
    offset: int = 0,
    count: int = 1,
    now_ms: int = 0,
    **fields,
):
    for sequence in sequences:
        _, header = make(count, producer_id=1, producer_epoch=epoch, base_sequence=sequence, **fields)
        assert state.check(header) is None
        state.update(header, offset, timestamp=header.max_timestamp, now_ms=now_ms)
        offset += count


def sent(make, sequence: int, *, epoch: int = 0, count: int = 1, **fields):
    return make(count, producer_id=1, producer_epoch=epoch, base_sequence=sequence, **fields)[1]


def test_the_last_five_batches_are_recognised(make) -> None:
    state = ProducerState()
    appended(state, make, *range(8))
    assert [state.check(sent(make, sequence)).base_offset for sequence in range(3, 8)] == [3, 4, 5, 6, 7]
    for sequence in (2, 9):
        with pytest.raises(OutOfOrderSequence):
            state.check(sent(make, sequence))
    with pytest.raises(OutOfOrderSequence):
        state.check(sent(make, 7, count=2))


def test_an_unknown_producer_starts_where_it_says(make) -> None:
    state = ProducerState()
    appended(state, make, 40)
    assert state.check(sent(make, 41)) is None


def test_sequences_wrap(make) -> None:
    state = ProducerState()
    appended(state, make, LAST - 1, count=2)
    assert state.check(sent(make, 0)) is None
    state = ProducerState()
    appended(state, make, LAST, count=3)
    assert state.check(sent(make, 2)) is None
    assert state.check(sent(make, LAST, count=3)).base_offset == 0


def test_a_new_epoch_starts_at_zero_and_fences_the_old(make) -> None:
    state = ProducerState()
    appended(state, make, 0, 1)
    with pytest.raises(OutOfOrderSequence):
        state.check(sent(make, 2, epoch=1))
    appended(state, make, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        state.check(sent(make, 2))


def test_a_marker_ends_the_transaction_and_may_raise_the_epoch(make) -> None:
    state = ProducerState()
    appended(state, make, 0, 1, offset=10, transactional=True)
    assert state.first_unstable_offset == 10
    header = make(producer_id=1, producer_epoch=1, base_sequence=-1)[1]
    marker = EndMarker(committed=False, coordinator_epoch=4)
    state.check_marker(header, marker)
    state.end_transaction(header, marker, now_ms=0)
    assert state.first_unstable_offset is None
    with pytest.raises(InvalidProducerEpoch):
        state.check(sent(make, 2))
    assert state.check(sent(make, 0, epoch=1)) is None
    with pytest.raises(TransactionCoordinatorFenced):
        state.check_marker(header, EndMarker(committed=True, coordinator_epoch=3))


def test_silent_producers_are_forgotten_but_not_in_a_transaction(make) -> None:
    state = ProducerState()
    appended(state, make, 0, timestamp=5, now_ms=1000)
    state.expire(now_ms=1500, expiration_ms=600)
    assert len(state) == 1
    state.expire(now_ms=1600, expiration_ms=600)
    assert len(state) == 0
    appended(state, make, 0, now_ms=1000, transactional=True)
    state.expire(now_ms=9999, expiration_ms=600)
    assert len(state) == 1


def test_a_snapshot_keeps_the_last_batch_of_each(tmp_path: Path, make) -> None:
    state = ProducerState()
    appended(state, make, 0, 2, 4, count=2, offset=100, transactional=True)
    store_snapshot(tmp_path, state, 106)
    assert snapshot_offsets(tmp_path) == [106]
    loaded = load_snapshot(tmp_path, 106)
    assert loaded.snapshot_offset == 106
    assert loaded.first_unstable_offset == 100
    assert loaded.check(sent(make, 4, count=2, transactional=True)).base_offset == 104
    assert loaded.check(sent(make, 6, transactional=True)) is None


@given(st.data())
def test_a_garbled_snapshot_is_noticed(tmp_path_factory, make, data) -> None:
    directory = tmp_path_factory.mktemp("snapshot")
    state = ProducerState()
    appended(state, make, 0)
    store_snapshot(directory, state, 0)
    content = bytearray(snapshot_path(directory, 0).read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    snapshot_path(directory, 0).write_bytes(content)
    with pytest.raises(CorruptFile):
        load_snapshot(directory, 0)

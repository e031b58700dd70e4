import resource
from bisect import bisect_right
from operator import itemgetter
from pathlib import Path
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_log.index_file import IndexFile
from millstream_log.offset_index import OffsetIndex
from millstream_log.time_index import TimeIndex

ENTRY = Struct(">ii")


@given(st.lists(st.integers(0, 5), max_size=200), st.lists(st.integers(0, 200)), st.data())
def test_lookups_are_those_of_a_sorted_list(tmp_path_factory, steps, flush_after, data) -> None:
    index = IndexFile(tmp_path_factory.mktemp("index") / "x.index", ENTRY)
    model: list[tuple[int, int]] = []
    value = 0
    for at, step in enumerate(steps):
        value += step
        model.append((value, 2 * at))
        index.append(model[-1])
        if at in flush_after:
            index.flush()
    if data.draw(st.booleans()):
        index.flush()
        assert IndexFile(index.path, ENTRY).load()
    keep = data.draw(st.integers(0, len(model)))
    index.truncate(keep)
    del model[keep:]
    assert [index[i] for i in range(len(index))] == model
    for column in (0, 1):
        for wanted in range(-1, value + 2):
            assert index.floor(wanted, column) == max((e for e in model if e[column] <= wanted), default=None)


def test_an_entry_is_found_in_an_index_of_many_blocks(tmp_path: Path) -> None:
    model = [(3 * i, i // 2) for i in range(1000)]
    index = IndexFile(tmp_path / "x.index", ENTRY)
    for entry in model:
        index.append(entry)
    index.flush()
    for column in (0, 1):
        for wanted in range(-1, 3001):
            at = bisect_right(model, wanted, key=itemgetter(column))
            assert index.floor(wanted, column) == (model[at - 1] if at else None)


def test_entries_that_could_not_be_written_are_written_later(tmp_path: Path) -> None:
    index = IndexFile(tmp_path / "x.index", ENTRY)
    for i in range(100):
        index.append((i, i))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            index.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [index[i] for i in range(100)] == [(i, i) for i in range(100)]
    index.flush()
    again = IndexFile(index.path, ENTRY)
    assert again.load()
    assert [again[i] for i in range(100)] == [(i, i) for i in range(100)]


def test_a_file_allocated_ahead_is_no_index(tmp_path: Path) -> None:
    for kind in (OffsetIndex, TimeIndex):
        index = kind(tmp_path / "x.index", 100)
        index.path.write_bytes(bytes(24 * 10))
        assert not index.load()
        index.path.write_bytes(bytes(13))
        assert not index.load()
        index.path.unlink()
        assert not index.load()
        index.path.write_bytes(bytes(24 * 10))
        index.reset()
        assert not index.load()
        index.flush()
        assert index.load()


def test_the_offset_index_points_before_what_is_sought(tmp_path: Path) -> None:
    index = OffsetIndex(tmp_path / "x.index", 1000)
    index.add(1010, 500)
    index.add(1020, 900)
    assert [index.position_of(offset) for offset in (1000, 1009, 1010, 1019, 1020, 5000)] == [0, 0, 500, 500, 900, 900]
    assert [index.position_before(position) for position in (0, 499, 500, 899, 900)] == [0, 0, 500, 500, 900]
    index.truncate_to(900)
    assert index.last_position == 500


def test_the_time_index_takes_only_news(tmp_path: Path) -> None:
    times = TimeIndex(tmp_path / "x.timeindex", 1000)
    for timestamp, offset in ((-1, 1001), (50, 1002), (50, 1003), (40, 1004), (60, 1009)):
        times.add(timestamp, offset)
    assert len(times) == 2
    assert times.largest == (60, 1009)
    assert [times.offset_before(timestamp) for timestamp in (0, 50, 51, 60, 61)] == [1000, 1000, 1002, 1002, 1009]

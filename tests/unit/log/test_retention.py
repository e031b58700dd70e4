from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_log import KEEPS_ALL, Retention, expired_segments


@dataclass
class Piece:
    size: int
    max_timestamp: int
    end_offset: int
    created_ms: int = 0


def pieces(*sizes_and_times: tuple[int, int]) -> list[Piece]:
    return [Piece(size, time, 10 * (i + 1)) for i, (size, time) in enumerate(sizes_and_times)]


def expired(segments: list[Piece], retention: Retention, *, now_ms: int = 1000, start: int = 0, end: int = 1000) -> int:
    return expired_segments(segments, retention, log_start_offset=start, deletable_end_offset=end, now_ms=now_ms)


@pytest.mark.parametrize(
    ("retention_ms", "count"), [(-1, 0), (1000, 0), (899, 1), (799, 2), (500, 2), (0, 4), (100, 3)]
)
def test_a_segment_goes_when_its_largest_timestamp_is_too_old(retention_ms: int, count: int) -> None:
    segments = pieces((5, 100), (5, 200), (5, 850), (5, 900))
    assert expired(segments, Retention(retention_ms=retention_ms)) == count


def test_a_young_record_keeps_everything_after_it() -> None:
    assert expired(pieces((5, 950), (5, 0), (5, 0)), Retention(retention_ms=100)) == 0


@pytest.mark.parametrize(("retention_bytes", "count"), [(-1, 0), (0, 3), (29, 0), (20, 1), (19, 1), (10, 2), (30, 0)])
def test_whole_segments_go_until_the_rest_is_no_smaller_than_the_limit(retention_bytes: int, count: int) -> None:
    segments = pieces((10, 0), (10, 0), (10, 0))
    assert expired(segments, Retention(retention_ms=-1, retention_bytes=retention_bytes)) == count


def test_what_was_deleted_by_request_goes_with_its_segments() -> None:
    assert expired(pieces((5, 999), (5, 999), (5, 999)), Retention(retention_ms=-1), start=25) == 2


def test_nothing_above_the_high_watermark_goes() -> None:
    assert expired(pieces((5, 0), (5, 0), (5, 0)), Retention(retention_ms=0), end=15) == 1


def test_a_segment_without_timestamps_ages_from_its_creation() -> None:
    segments = [Piece(5, -1, 10, created_ms=100), Piece(5, -1, 20, created_ms=990)]
    assert expired(segments, Retention(retention_ms=500)) == 1


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 2000)), min_size=1),
    st.integers(-1, 1500),
    st.integers(-1, 200),
)
def test_what_stays_is_what_the_limits_say(shape: list[tuple[int, int]], ms: int, limit: int) -> None:
    segments = pieces(*shape)
    count = expired(segments, Retention(retention_ms=ms, retention_bytes=limit), now_ms=1500)
    kept = sum(segment.size for segment in segments[count:])
    assert limit < 0 or count == 0 or kept >= limit or ms >= 0
    for segment in segments[:count]:
        time = segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms
        assert limit >= 0 or (ms >= 0 and 1500 - time > ms)


def test_without_delete_in_its_policy_a_log_keeps_every_segment() -> None:
    segments = pieces((5, 0), (5, 0))
    assert expired(segments, Retention(retention_ms=0, retention_bytes=0, deletes=False), start=15) == 0
    assert expired(segments, KEEPS_ALL, start=15) == 0
    assert not KEEPS_ALL.forgets_producers

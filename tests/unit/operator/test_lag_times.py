"""How long groups have been behind, and where they do not move."""

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from millstream_operator.plan.lag_times import AGES_MS, NARROWED, POINTS_MAX, Behind, EndHistory, LagTimes, Point, Still

A, B = ("orders", 0), ("orders", 1)
NOBODY_STUCK: dict[tuple[str, int], Still] = {}


def history(*points: tuple[int, int]) -> EndHistory:
    made = EndHistory()
    for time_ms, end in points:
        made.saw(time_ms, end)
    return made


def test_a_position_was_passed_between_the_looks_around_it() -> None:
    seen = history((0, 100), (10_000, 200), (20_000, 300))
    assert seen.passed_at(150) == 5_000
    assert seen.passed_at(200) == 10_000
    assert seen.passed_at(300) is None


def test_records_after_a_time_of_rest_are_as_old_as_the_end_of_the_rest() -> None:
    seen = history((0, 100), *((at * 1_000, 100) for at in range(1, 3600)), (3_600_000, 150))
    assert seen.passed_at(100) == 3_599_000


def test_what_is_older_than_the_first_look_is_at_least_as_old_as_that() -> None:
    assert history((5_000, 100)).passed_at(3) == 5_000
    assert not history((5_000, 100)).reaches(3)


def test_the_past_that_was_asked_for_comes_before_what_was_seen() -> None:
    seen = history((100_000, 500))
    seen.remember([Point(40_000, 200), Point(-500_000, 0), Point(90_000, 900)])
    assert seen.is_asked_for
    assert seen.passed_at(200) == 40_000
    assert seen.passed_at(100) == -230_000


def test_a_log_that_went_back_begins_a_new_history() -> None:
    assert history((0, 100), (1_000, 200), (2_000, 50), (3_000, 80)).passed_at(60) == 2_333


@given(st.lists(st.integers(0, 1_000), min_size=200, max_size=400))
def test_few_points_are_kept_and_the_newest_are_exact(grows: list[int]) -> None:
    seen, end = EndHistory(), 0
    for at, more in enumerate(grows):
        end += more
        seen.saw(at * 10_000, end)
    newest = (len(grows) - 1) * 10_000
    assert len(seen._points) <= POINTS_MAX
    assert seen.passed_at(end) is None
    if grows[-1]:
        assert newest - 10_000 <= (seen.passed_at(end - 1) or 0) <= newest


def look(times: LagTimes, now_ms: int, end: int, position: int, *, stuck_after_ms: int | None = 60_000) -> Behind:
    times.saw(now_ms, {A: end}, ["readers"])
    unread = {A: position} if position < end else {}
    return times.behind("readers", unread, NOBODY_STUCK, now_ms=now_ms, stuck_after_ms=stuck_after_ms)


def test_a_group_is_as_far_behind_as_its_oldest_unread_record() -> None:
    times = LagTimes()
    assert look(times, 0, 100, 100) == Behind()
    assert look(times, 10_000, 200, 100).ms == 10_000
    assert look(times, 20_000, 300, 250).ms == 5_000
    assert look(times, 30_000, 300, 300) == Behind()


def test_a_group_that_does_not_move_is_stuck_and_one_that_moves_is_not() -> None:
    times = LagTimes()
    look(times, 0, 100, 10)
    assert look(times, 59_000, 100, 10).stuck == {}
    assert look(times, 60_000, 100, 10).stuck == {A: 0}
    assert look(times, 61_000, 100, 11).stuck == {}
    assert look(times, 120_000, 100, 11).stuck == {}


def test_nobody_is_stuck_where_nobody_reads_and_the_clock_begins_with_who_comes() -> None:
    times = LagTimes()
    look(times, 0, 100, 10, stuck_after_ms=None)
    assert look(times, 500_000, 100, 10, stuck_after_ms=None).stuck == {}
    assert look(times, 510_000, 100, 10).stuck == {}
    assert look(times, 559_000, 100, 10).stuck == {}
    assert look(times, 570_000, 100, 10).stuck == {A: 500_000}


def test_an_operator_that_starts_knows_from_the_status_who_was_stuck() -> None:
    times = LagTimes()
    times.saw(500_000, {A: 100, B: 100}, ["readers"])
    told = {A: Still(10, 20_000), B: Still(10, 20_000)}
    behind = times.behind("readers", {A: 10, B: 50}, told, now_ms=500_000, stuck_after_ms=60_000)
    assert behind.stuck == {A: 20_000}


def test_the_past_is_asked_for_once_and_only_where_it_matters() -> None:
    times = LagTimes()
    times.saw(0, {A: 100, B: 100}, ["readers"])
    assert times.unknown([{A: 5}, {A: 3}, {}]) == {A: 3}
    times.remember({A: []})
    assert times.unknown([{A: 5}]) == {}


@given(st.integers(0, 999), st.integers(1, 40_000))
def test_the_time_of_the_oldest_unread_record_is_found_to_a_thirtieth_of_its_age(position: int, step_s: int) -> None:
    """Of a log that got a record every so often for 30 days and ends now, as ListOffsets would tell it."""
    now_ms, step_ms = 10_000_000_000, min(step_s, 2_592) * 1_000
    written = [now_ms - (1_000 - each) * step_ms for each in range(1_000)]

    def end_at(time_ms: int) -> int:
        return bisect_left(written, time_ms)

    times = LagTimes()
    times.saw(now_ms, {A: 1_000}, ["readers"])
    unknown = times.unknown([{A: position}])
    times.remember({A: [Point(at_ms, end_at(at_ms)) for at_ms in (now_ms - age_ms for age_ms in AGES_MS)]})
    for _ in range(NARROWED):
        asked = times.narrowing(unknown)
        times.remember({each: [Point(at_ms, end_at(at_ms))] for each, at_ms in asked.items()})
    age_ms = now_ms - written[position]
    assert abs(times.oldest_ms({A: position}, now_ms) - age_ms) <= age_ms / 30 + 5_000


def test_what_nobody_declares_any_more_is_forgotten() -> None:
    times = LagTimes()
    look(times, 0, 100, 10)
    times.saw(1_000, {B: 1}, [])
    assert times._histories.keys() == {B}
    assert times._still == {}

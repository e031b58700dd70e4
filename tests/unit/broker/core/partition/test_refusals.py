"""When a log's refusals last long enough to have somebody else lead, and when they are forgotten."""

from millstream_broker.core.partition.refusals import AGAIN_MS, CALM_MS, LASTING_MS, REMEMBERED_MS, Refusals


def refused(*times_ms: int) -> Refusals:
    refusals = Refusals()
    for now_ms in times_ms:
        refusals.on_refused(now_ms)
    return refusals


def test_one_refusal_may_pass_and_so_may_several_of_one_moment() -> None:
    assert not refused(7).asks(7)
    assert not refused(7, 8, 7 + LASTING_MS - 1).asks(7 + LASTING_MS - 1)


def test_a_retry_that_is_refused_as_well_lasts() -> None:
    assert refused(7, 7 + LASTING_MS).asks(7 + LASTING_MS)


def test_a_log_that_takes_something_in_between_is_not_given_up() -> None:
    refusals = refused(7)
    refusals.on_appended()
    refusals.on_refused(7 + LASTING_MS)
    assert not refusals.asks(7 + LASTING_MS)
    assert not refusals.is_over(7 + LASTING_MS)


def test_nobody_is_asked_again_before_a_pause_though_it_led_and_appended_meanwhile() -> None:
    refusals = refused(0, 100)
    refusals.on_asked(100)
    refusals.on_appended()
    refusals.on_refused(200)
    refusals.on_refused(99 + AGAIN_MS)
    assert not refusals.asks(99 + AGAIN_MS)
    refusals.on_refused(100 + AGAIN_MS)
    assert refusals.asks(100 + AGAIN_MS)


def test_a_log_that_never_refused_is_counted_on() -> None:
    assert Refusals().is_over(0)


def test_a_refusal_is_over_a_while_after_the_last_one_if_appends_succeed() -> None:
    refusals = refused(7)
    refusals.on_appended()
    assert not refusals.is_over(6 + CALM_MS)
    assert refusals.is_over(7 + CALM_MS)


def test_a_refusal_is_forgotten_where_there_was_nothing_to_append_since() -> None:
    assert not refused(7).is_over(6 + REMEMBERED_MS)
    assert refused(7).is_over(7 + REMEMBERED_MS)

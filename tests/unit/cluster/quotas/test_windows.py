"""Rates over windows, beside a model that keeps everything that was ever used."""

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.quotas.windows import THROTTLE_MAX_MS, WindowedRate, Windows


def test_a_burst_within_the_windows_is_no_rate_and_one_beyond_waits_until_it_is_none() -> None:
    rate = WindowedRate(Windows())
    rate.record(1000, 0)
    assert rate.throttle_ms(100, 0) == 0
    rate.record(500, 0)
    assert rate.throttle_ms(100, 0) == 5_000
    assert rate.throttle_ms(100, 900) == 4_100


def test_what_is_older_than_the_windows_is_forgotten() -> None:
    rate = WindowedRate(Windows())
    rate.record(10_000, 0)
    assert rate.throttle_ms(100, 10_999) > 0
    assert rate.throttle_ms(100, 11_000) == 0


def test_a_response_has_room_for_the_longest_wait() -> None:
    rate = WindowedRate(Windows())
    rate.record(1 << 60, 0)
    assert rate.throttle_ms(1, 0) == THROTTLE_MAX_MS


class Model:
    """All that was used, each in the window that its time was in."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.used: list[tuple[int, int]] = []
        """(when its window began, how much)"""

    def record(self, amount: int, now_ms: int) -> None:
        kept = self.kept(now_ms)
        begun = kept[-1][0] if kept and now_ms - kept[-1][0] < self.windows.window_ms else now_ms
        self.used.append((begun, amount))

    def kept(self, now_ms: int) -> list[tuple[int, int]]:
        return [each for each in self.used if each[0] > now_ms - self.windows.span_ms]

    def rate(self, now_ms: int) -> float:
        """As Kafka's Rate measures: at least all windows but one are taken to have passed."""
        kept = self.kept(now_ms)
        elapsed_ms = now_ms - kept[0][0]
        while elapsed_ms // self.windows.window_ms < self.windows.samples - 1:
            elapsed_ms += self.windows.window_ms
        return sum(amount for _, amount in kept) * 1000 / elapsed_ms


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 10_000)), min_size=1, max_size=60),
    st.integers(2, 12),
    st.sampled_from([100, 1_000, 2_000]),
    st.floats(1, 5_000),
)
def test_it_measures_as_the_model_does_and_waiting_brings_it_back(
    uses: list[tuple[int, int]], samples: int, window_ms: int, bound: float
) -> None:
    windows = Windows(samples, window_ms)
    rate, model, now_ms = WindowedRate(windows), Model(windows), 0
    for pause_ms, amount in uses:
        now_ms += pause_ms
        rate.record(amount, now_ms)
        model.record(amount, now_ms)
        measured = model.rate(now_ms)
        throttle_ms = rate.throttle_ms(bound, now_ms)
        if measured <= bound:
            assert throttle_ms == 0
        else:
            kept_ms = sum(amount for _, amount in model.kept(now_ms)) * 1000 / measured
            assert abs(throttle_ms - (measured - bound) / bound * kept_ms) <= 1

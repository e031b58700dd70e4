"""Buckets of tokens for changes of metadata: what is refused, who waits and how long, beside a model that fills drop by drop."""

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.quotas.mutation_quota import REMEMBERED_MS, UNLIMITED, MutationQuota
from millstream_cluster.quotas.token_bucket import TokenBucket
from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType

KEY = "controller_mutation_rate"
ALICE = (QuotaEntity(QuotaEntityType.USER, "alice"),)
CLIENT = ("alice", "c")


def quota(per_s: float = 1.0) -> MutationQuota:
    made = MutationQuota(Windows())
    made.configure({ALICE: {KEY: per_s}})
    return made


def test_who_has_no_quota_may_change_anything() -> None:
    made = quota()
    assert made.allowance(("bob", "c"), 0, is_strict=True) is UNLIMITED
    assert UNLIMITED.take(1 << 40)
    assert UNLIMITED.throttle_ms == 0
    assert made.accounts == 0


def test_a_strict_request_gets_what_it_asks_while_nothing_is_overdrawn_and_then_nothing() -> None:
    made = quota()
    first = made.allowance(CLIENT, 0, is_strict=True)
    assert (first.take(30), first.throttle_ms) == (True, 0)
    assert (first.take(1), first.throttle_ms) == (False, 20_000)
    assert (first.take(1), first.throttle_ms) == (False, 20_000)
    assert not made.allowance(CLIENT, 19_000, is_strict=True).take(1)
    assert made.allowance(CLIENT, 20_000, is_strict=True).take(1)
    assert made.throttled.times == 3
    assert made.throttled.total_ms == 21_000


def test_an_older_request_gets_everything_and_its_client_waits() -> None:
    made = quota(2.0)
    asked = made.allowance(CLIENT, 0, is_strict=False)
    assert (asked.take(20), asked.throttle_ms) == (True, 0)
    assert (asked.take(5), asked.throttle_ms) == (True, 2_500)
    assert (asked.take(1), asked.throttle_ms) == (True, 3_000)
    assert made.allowance(CLIENT, 0, is_strict=True).take(1) is False
    assert (made.throttled.times, made.throttled.total_ms) == (3, 6_000)


def test_a_bucket_is_kept_while_it_is_overdrawn_and_a_changed_quota_finds_it_so() -> None:
    made = quota()
    made.allowance(CLIENT, 0, is_strict=True).take(1_000)
    made.configure({ALICE: {KEY: 10.0}})
    refused = made.allowance(CLIENT, 60_000, is_strict=True)
    assert (refused.take(1), refused.throttle_ms) == (False, 39_000)
    made.configure({})
    assert made.allowance(CLIENT, 60_000, is_strict=True) is UNLIMITED
    made.configure({ALICE: {KEY: 1.0}})
    assert made.allowance(CLIENT, 60_000, is_strict=True).take(1)


def test_who_was_silent_for_an_hour_is_forgotten() -> None:
    made = MutationQuota(Windows())
    made.configure({(QuotaEntity(QuotaEntityType.USER, None),): {KEY: 1.0}})
    for at, name in enumerate(["a", "b", "c"]):
        made.allowance((name, ""), (at + 1) * REMEMBERED_MS, is_strict=True)
    assert made.accounts == 2


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 40)), max_size=40), st.integers(1, 20))
def test_a_bucket_is_as_full_as_one_that_fills_drop_by_drop(takes: list[tuple[int, int]], per_s: int) -> None:
    windows = Windows()
    bucket, now_ms = TokenBucket(windows, 0), 0
    most = drops = per_s * windows.burst_ms  # a drop is a thousandth of a token
    for pause_ms, tokens in takes:
        for _ in range(pause_ms):
            drops = min(most, drops + per_s)
        now_ms += pause_ms
        bucket.take(tokens, per_s, now_ms)
        drops -= tokens * 1_000
        assert abs(bucket.throttle_ms(per_s, now_ms) - max(0, -drops / per_s)) <= 1

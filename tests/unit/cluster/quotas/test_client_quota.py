"""Whose quota counts, and how long who is over it waits: Kafka's precedence and Kafka's arithmetic."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.quotas.accounts import ACCOUNTS_MAX
from millstream_cluster.quotas.bounds import Bounds
from millstream_cluster.quotas.client_quota import ClientQuota
from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType

KEY = "producer_byte_rate"


def entity(**parts: str | None) -> tuple[QuotaEntity, ...]:
    types = {"user": QuotaEntityType.USER, "client": QuotaEntityType.CLIENT_ID}
    return tuple(QuotaEntity(types[kind], name) for kind, name in parts.items())


LEVELS = [
    entity(user="u", client="c"),
    entity(user="u", client=None),
    entity(user="u"),
    entity(user=None, client="c"),
    entity(user=None, client=None),
    entity(user=None),
    entity(client="c"),
    entity(client=None),
]


def quota(*entities: tuple[QuotaEntity, ...], bound: float = 100.0) -> ClientQuota:
    made = ClientQuota(KEY, Windows())
    made.configure({each: {KEY: bound} for each in entities})
    return made


def test_nothing_is_counted_while_nobody_has_a_quota() -> None:
    idle = quota()
    assert not idle.active
    assert idle.charge(("u", "c"), 1 << 40, 0) == 0
    assert idle.burst(("u", "c")) is None
    idle.configure({entity(user="u"): {"consumer_byte_rate": 1.0}})
    assert not idle.active
    assert idle.accounts == 0


@pytest.mark.parametrize(("exact", "general"), list(pairwise(LEVELS)))
def test_the_more_exact_level_holds(exact: tuple[QuotaEntity, ...], general: tuple[QuotaEntity, ...]) -> None:
    made = ClientQuota(KEY, Windows())
    made.configure({general: {KEY: 1.0}, exact: {KEY: 7.0}})
    assert made.burst(("u", "c")) == 70
    made.configure({general: {KEY: 1.0}})
    assert made.burst(("u", "c")) == 10


@pytest.mark.parametrize("level", LEVELS[2:3] + LEVELS[5:6])
def test_a_users_clients_share_what_the_user_has(level: tuple[QuotaEntity, ...]) -> None:
    made = quota(level)
    assert made.charge(("u", "a"), 1000, 0) == 0
    assert made.charge(("u", "b"), 1000, 0) == 10_000
    assert made.charge(("v", "a"), 1000, 0) == 0


def test_clients_of_one_id_share_it_whoever_they_are_and_others_have_their_own() -> None:
    made = quota(entity(client=None))
    assert made.charge(("u", "a"), 1000, 0) == 0
    assert made.charge(("v", "a"), 1000, 0) == 10_000
    assert made.charge(("u", "b"), 1000, 0) == 0


@pytest.mark.parametrize("size", [10, 700, 5_000, 10_000])
def test_a_client_that_obeys_moves_what_its_quota_allows(size: int) -> None:
    made = quota(entity(client="c"), bound=1000.0)
    now_ms = moved = 0
    while now_ms < 300_000:
        moved += size
        now_ms += 1 + made.charge(("u", "c"), size, now_ms)
    allowed = 1000 * now_ms / 1000
    assert 0.9 * allowed - size <= moved <= 1.1 * allowed + 10_000 + size


def test_what_was_used_counts_towards_a_changed_quota() -> None:
    made = quota(entity(client=None))
    assert made.charge(("u", "c"), 1000, 0) == 0
    made.configure({entity(client=None): {KEY: 50.0}})
    assert made.charge(("u", "c"), 10, 0) == 10_200
    made.configure({})
    made.configure({entity(client=None): {KEY: 50.0}})
    assert made.charge(("u", "c"), 10, 0) == 0, "while nobody had a quota, nothing was counted"


def test_few_clients_are_remembered() -> None:
    made = quota(entity(client=None))
    for number in range(ACCOUNTS_MAX + 5):
        made.charge(("u", str(number)), 1000, 0)
        assert made.accounts <= ACCOUNTS_MAX
    assert made.charge(("u", "0"), 1000, 0) == 0
    assert made.charge(("u", str(ACCOUNTS_MAX)), 1000, 0) > 0


def test_who_was_silent_for_long_is_forgotten() -> None:
    made = quota(entity(client=None))
    for number in range(50):
        made.charge(("u", str(number)), 1, 0)
    made.charge(("u", "a"), 1, Windows().span_ms)
    made.charge(("u", "a"), 1, 2 * Windows().span_ms)
    assert made.accounts == 1


def test_what_one_waits_has_a_bound_where_the_quota_has_one_and_is_counted() -> None:
    made = ClientQuota("request_percentage", Windows(), units=10_000, throttle_max_ms=1_000)
    made.configure({entity(client=None): {"request_percentage": 1.0}})
    assert made.charge(("u", "c"), 100_000, 0) == 0
    assert made.charge(("u", "c"), 5_000, 0) == 500
    assert made.charge(("u", "c"), 1_000_000, 0) == 1_000
    assert (made.throttled.times, made.throttled.total_ms) == (2, 1_500)


NAMES = st.sampled_from(["a", "b", "c"])
ENTITIES = st.one_of(
    st.builds(lambda user: entity(user=user), st.none() | NAMES),
    st.builds(lambda client: entity(client=client), st.none() | NAMES),
    st.builds(lambda user, client: entity(user=user, client=client), st.none() | NAMES, st.none() | NAMES),
)


@given(st.dictionaries(ENTITIES, st.integers(1, 1000)), NAMES, NAMES)
def test_the_first_of_kafkas_eight_levels_that_is_set_holds(
    bounds: dict[tuple[QuotaEntity, ...], int], user: str, client: str
) -> None:
    """Its documentation lists them; user levels come before those that name a client id alone."""
    levels = [
        (entity(user=user, client=client), (user, client)),
        (entity(user=user, client=None), (user, client)),
        (entity(user=user), (user,)),
        (entity(user=None, client=client), (user, client)),
        (entity(user=None, client=None), (user, client)),
        (entity(user=None), (user,)),
        (entity(client=client), ("", client)),
        (entity(client=None), ("", client)),
    ]
    expected = next(((owner, bounds[level]) for level, owner in levels if level in bounds), None)
    assert Bounds({each: {KEY: bound} for each, bound in bounds.items()}, KEY).find((user, client)) == expected

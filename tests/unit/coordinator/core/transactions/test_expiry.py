"""Transactional ids that nobody uses are forgotten, after as long as was said and no sooner."""

from transaction_course import PARTITIONS, Live, started

from millstream_coordinator.core.transactions.courses import abort_overdue
from millstream_coordinator.core.transactions.expiry import EXPIRED_MAX, forget_unused
from millstream_wire.errors import ErrorCode

WEEK_MS = 7 * 24 * 3_600_000


def forget(live: Live) -> bool:
    return bool(live.do(forget_unused(live.shard, expiration_ms=WEEK_MS, now_ms=live.now_ms)).more)


def test_unused_ids_are_forgotten_in_the_log_too() -> None:
    live = Live()
    producer = started(live, "old")
    live.now_ms += WEEK_MS - 1
    started(live, "newer")
    forget(live)
    assert live.shard.transactions.keys() == {"old", "newer"}
    live.now_ms += 1
    forget(live)
    assert live.shard.transactions.keys() == live.replayed().transactions.keys() == {"newer"}
    assert live.log[-1][1] is None
    # Whoever still uses it has to begin anew.
    assert live.add(producer, PARTITIONS[0]) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert started(live, "old").producer_id != producer.producer_id


def test_what_is_under_way_or_not_everywhere_ended_is_not_forgotten() -> None:
    live = Live()
    producer = started(live)
    live.add(producer, PARTITIONS[0])
    live.now_ms += WEEK_MS
    forget(live)
    live.do(abort_overdue(live.shard, "x", live.now_ms))
    live.now_ms += WEEK_MS
    forget(live)
    assert live.shard.transactions.keys() == {"x"}
    live.complete()
    forget(live)
    assert live.shard.transactions.keys() == {"x"}
    live.now_ms += WEEK_MS
    forget(live)
    assert live.shard.transactions == {}


def test_many_are_forgotten_some_at_a_time() -> None:
    live = Live()
    for number in range(EXPIRED_MAX + 1):
        started(live, f"x-{number}")
    live.now_ms += WEEK_MS
    assert forget(live)
    assert len(live.shard.transactions) == 1
    assert not forget(live)
    assert live.shard.transactions == {}

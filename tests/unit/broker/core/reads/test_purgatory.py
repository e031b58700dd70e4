from hypothesis import given
from hypothesis import strategies as st

from millstream_broker.core.reads.purgatory import ANY_OFFSET, Place, Purgatory

A, B, C = Place(), Place(), Place()


def test_an_operation_is_handed_back_once_it_has_seen_enough_progress() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add("fetch", {A: 10, B: 20}, missing=100, deadline_ms=500)
    assert purgatory.reached(A, 11, 60) == []
    assert purgatory.reached(C, 1000, 1000) == []
    assert purgatory.reached(B, 21, 40) == ["fetch"]
    assert purgatory.reached(B, 22, 40) == []
    assert purgatory.expired(500) == []
    purgatory.check()
    assert len(purgatory) == 0


def test_only_what_comes_behind_the_offset_is_progress() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add("reads from 10", {A: 10}, missing=1, deadline_ms=500)
    assert purgatory.reached(A, 10, 60) == []
    assert purgatory.reached(A, 11, 60) == ["reads from 10"]
    purgatory.check()


def test_a_change_hands_back_whoever_watches() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add("one", {A: ANY_OFFSET, B: ANY_OFFSET}, missing=100, deadline_ms=500)
    purgatory.add("other", {B: ANY_OFFSET}, missing=100, deadline_ms=500)
    assert purgatory.changed(A) == ["one"]
    assert purgatory.changed(B) == ["other"]
    purgatory.check()


def test_deadlines_expire_in_order_and_the_next_one_is_known() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add("late", {A: 0}, missing=1, deadline_ms=900)
    purgatory.add("soon", {A: 0}, missing=1, deadline_ms=300)
    cancelled = purgatory.add("gone", {A: 0}, missing=1, deadline_ms=100)
    purgatory.cancel(cancelled)
    assert purgatory.deadline_ms() == 300
    assert purgatory.expired(299) == []
    assert purgatory.expired(300) == ["soon"]
    assert purgatory.deadline_ms() == 900
    assert purgatory.drain() == ["late"]
    assert purgatory.deadline_ms() is None
    purgatory.check()


def test_an_operation_may_wait_for_its_deadline_alone() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add("acks", {}, missing=1, deadline_ms=300)
    purgatory.check()
    assert purgatory.expired(300) == ["acks"]
    purgatory.check()


def test_finished_operations_do_not_pile_up_until_their_deadlines() -> None:
    purgatory: Purgatory[int] = Purgatory()
    for number in range(10_000):
        purgatory.add(number, {A: ANY_OFFSET}, missing=1, deadline_ms=10**9)
        assert purgatory.reached(A, number, 1) == [number]
    assert len(purgatory._heap) < 200
    purgatory.check()


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.sets(st.integers(0, 3), min_size=1), st.integers(1, 20), st.integers(0, 50)),
            st.tuples(st.just("progress"), st.integers(0, 3), st.integers(1, 10)),
            st.tuples(st.just("change"), st.integers(0, 3)),
            st.tuples(st.just("expire"), st.integers(0, 50)),
        )
    )
)
def test_every_operation_comes_back_exactly_once(steps: list[tuple[object, ...]]) -> None:
    purgatory: Purgatory[int] = Purgatory()
    places = [Place() for _ in range(4)]
    added = 0
    back: list[int] = []
    for step in steps:
        match step:
            case ("add", set(keys), int(missing), int(deadline)):
                watched = {places[key]: ANY_OFFSET for key in sorted(keys)}
                purgatory.add(added, watched, missing=missing, deadline_ms=deadline)
                added += 1
            case ("progress", int(key), int(amount)):
                back += purgatory.reached(places[key], 0, amount)
            case ("change", int(key)):
                back += purgatory.changed(places[key])
            case ("expire", int(now)):
                back += purgatory.expired(now)
        purgatory.check()
    back += purgatory.drain()
    assert sorted(back) == list(range(added))

from hypothesis import given
from hypothesis import strategies as st

from millstream_broker.core.reads.purgatory import Purgatory


def test_an_operation_is_handed_back_once_it_has_seen_enough_progress() -> None:
    purgatory: Purgatory[str, str] = Purgatory()
    purgatory.add("fetch", ["a", "b"], missing=100, deadline_ms=500)
    assert purgatory.progressed("a", 60) == []
    assert purgatory.progressed("c", 1000) == []
    assert purgatory.progressed("b", 40) == ["fetch"]
    assert purgatory.progressed("b", 40) == []
    assert purgatory.expired(500) == []
    purgatory.check()
    assert len(purgatory) == 0


def test_a_change_hands_back_whoever_watches() -> None:
    purgatory: Purgatory[str, str] = Purgatory()
    purgatory.add("one", ["a", "b"], missing=100, deadline_ms=500)
    purgatory.add("other", ["b"], missing=100, deadline_ms=500)
    assert purgatory.changed("a") == ["one"]
    assert purgatory.changed("b") == ["other"]
    purgatory.check()


def test_deadlines_expire_in_order_and_the_next_one_is_known() -> None:
    purgatory: Purgatory[str, str] = Purgatory()
    purgatory.add("late", ["a"], missing=1, deadline_ms=900)
    purgatory.add("soon", ["a"], missing=1, deadline_ms=300)
    cancelled = purgatory.add("gone", ["a"], missing=1, deadline_ms=100)
    purgatory.cancel(cancelled)
    assert purgatory.deadline_ms() == 300
    assert purgatory.expired(299) == []
    assert purgatory.expired(300) == ["soon"]
    assert purgatory.deadline_ms() == 900
    assert purgatory.drain() == ["late"]
    assert purgatory.deadline_ms() is None
    purgatory.check()


def test_finished_operations_do_not_pile_up_until_their_deadlines() -> None:
    purgatory: Purgatory[int, int] = Purgatory()
    for number in range(10_000):
        purgatory.add(number, [1], missing=1, deadline_ms=10**9)
        assert purgatory.progressed(1, 1) == [number]
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
    purgatory: Purgatory[int, int] = Purgatory()
    added = 0
    back: list[int] = []
    for step in steps:
        match step:
            case ("add", set(keys), int(missing), int(deadline)):
                purgatory.add(added, sorted(keys), missing=missing, deadline_ms=deadline)
                added += 1
            case ("progress", int(key), int(amount)):
                back += purgatory.progressed(key, amount)
            case ("change", int(key)):
                back += purgatory.changed(key)
            case ("expire", int(now)):
                back += purgatory.expired(now)
        purgatory.check()
    back += purgatory.drain()
    assert sorted(back) == list(range(added))

"""The longest time without an acknowledgement around each fault, told apart from what happens between faults."""

import pytest
from history import ABORTED, COMMITTED, Acked, Commit, Ended, Event, Healed, Struck, Whole
from unavailability import BEFORE_ALL, CALM, Row, acknowledgements, commits, transactions, unavailability


def acks(partition: int, *times: float) -> list[Event]:
    return [Acked("p", "orders", partition, f"p|{partition}|{at}", 0, at) for at in times]


def fault(number: int, family: str, victim: str, struck: float, healed: float, whole: float) -> list[Event]:
    return [Struck(number, family, victim, "", struck), Healed(number, healed), Whole(number, whole)]


def rows(*events: list[Event]) -> dict[str, Row]:
    history = [Whole(BEFORE_ALL, 1.0), *(event for group in events for event in group)]
    return {row.kind: row for row in unavailability(history, acknowledgements(history))}


def test_a_gap_belongs_to_the_fault_in_whose_window_it_is() -> None:
    found = rows(
        acks(0, 1, 2, 3, 9, 10, 20, 21),
        acks(1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 20, 21),
        fault(1, "kill", "broker-1", 3.5, 5, 8),
        fault(2, "cut", "controller-2", 10.5, 12, 12.5),
    )
    assert list(found) == [CALM, "kill broker", "cut controller"]
    assert found["kill broker"].gaps == [6, 1]
    assert found["cut controller"].gaps == [10, 6]
    assert found[CALM].gaps == [1, 1]


def test_a_gap_that_outlasts_its_fault_is_not_the_next_ones() -> None:
    found = rows(
        acks(0, 1, 2, 3, 12, 13, 14),
        fault(1, "full", "broker-1", 3.1, 9, 9.5),
        fault(2, "empty", "broker-2", 11, 11.5, 12),
    )
    assert (found["full broker"].worst_s, found["empty broker"].worst_s) == (9, 1)


def test_faults_of_a_kind_share_a_row() -> None:
    found = rows(
        acks(0, *range(1, 10), 15, *range(16, 30)),
        fault(1, "kill", "broker-1", 9.5, 10, 15),
        fault(2, "kill", "broker-2", 20.5, 21, 21.5),
    )
    row = found["kill broker"]
    assert (row.faults, row.median_s, row.worst_s) == (2, 3.5, 6)
    assert row.until_whole == [5, 0.5]


def test_what_no_session_notices_is_told_apart_from_what_outlasts_one() -> None:
    found = rows(
        acks(0, *range(1, 10), 12, *range(13, 20), 26, 27),
        [Struck(1, "pause", "broker-1", "", 9.5, "briefly"), Healed(1, 11), Whole(1, 12)],
        [Struck(2, "pause", "broker-1", "", 19.5), Healed(2, 30), Whole(2, 31)],
    )
    assert (found["pause broker briefly"].worst_s, found["pause broker"].worst_s) == (3, 7)


def test_a_nodes_return_is_told_apart_from_what_the_fault_does_itself() -> None:
    found = rows(
        acks(0, *range(1, 10), 11, 12, 13, 18, 19),
        acks(1, *range(1, 20)),
        fault(1, "stop", "broker-1", 9.5, 12.5, 15),
    )
    row = found["stop broker"]
    assert (row.median_worst_s, row.median_while_it_lasted_s) == (5, 2)


def test_faults_at_the_same_time_are_one() -> None:
    found = rows(
        acks(0, *range(1, 10), 15, 16),
        [Struck(1, "kill", "broker-1", "", 9.5), Struck(2, "pause", "controller-1", "", 9.6)],
        [Healed(1, 10), Healed(2, 11), Whole(1, 15), Whole(2, 15)],
    )
    assert (found["two at a time"].faults, found["two at a time"].gaps, found["two at a time"].until_whole) == (
        1,
        [6],
        [4],
    )


def test_a_partition_that_never_comes_back_counts_to_the_end() -> None:
    found = rows(acks(0, 1, 2, 3), acks(1, *range(1, 31)), fault(1, "empty", "broker-1", 3.5, 5, 8))
    assert found["empty broker"].worst_s == 27


@pytest.mark.parametrize("events", [[], acks(0, 1, 2)], ids=["nothing acknowledged", "no fault"])
def test_there_may_be_nothing_to_tell(events: list[Event]) -> None:
    assert sum(len(row.gaps) for row in rows(events).values()) == len(events[:1])


def commit(group: str, member: str, at: float, error: str = "") -> Event:
    return Commit(group, member, "orders", 0, 1, at - 0.1, at, error)


def ended(producer: str, at: float, outcome: str = COMMITTED) -> Event:
    return Ended(producer, 1, outcome, "payments", [], at - 0.1, at)


def test_a_group_goes_on_when_any_of_its_members_is_answered() -> None:
    history = [
        *(commit("one", f"member-{at % 2}", at) for at in (1, 2, 3, 8, 9)),
        *(commit("other", "member", at) for at in range(1, 10)),
        *(commit("one", "member-1", at, "NOT_COORDINATOR") for at in (4, 5, 6)),
    ]
    assert commits(history) == {"one": [1, 2, 3, 8, 9], "other": list(range(1, 10))}


def test_a_transaction_counts_when_it_is_committed_in_whatever_life_of_its_producer() -> None:
    history = [ended("payer-1.0", 1), ended("payer-1.0", 2, ABORTED), ended("payer-1.1", 3), ended("payer-2.0", 4)]
    assert transactions(history) == {("payments", "payer-1"): [1, 3], ("payments", "payer-2"): [4]}

"""Every kind of violation: a sound history in which nothing is found, and one corruption of it that has to be."""

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import pytest
from checker import CHECKS, check
from checks_of_logs import sent_again
from history import (
    ABORTED,
    COMMITTED,
    COMMITTED_ONLY,
    EVERYTHING,
    UNKNOWN,
    Acked,
    Commit,
    Ended,
    Event,
    Final,
    FinalCommit,
    Read,
    Resumed,
    Sent,
    Stored,
    Trouble,
)
from violations import Kind

E = TypeVar("E", bound=Event)
ORDERS = ["p.0|0|0", "p.0|0|1", "p.0|0|2"]
PAID = ["t.0|0|0.0", "t.0|0|0.1"]
DROPPED = ["t.0|0|1.0"]
COPIED = [f"c.0|0|{offset}|0|{key}" for offset, key in enumerate(ORDERS)]
GROUP = "readers"


def sound() -> list[Event]:
    """Three orders, a payment of two records, one that was aborted, all orders copied, and a group that read everything."""
    orders = [Sent("p.0", "orders", 0, key, number) for number, key in enumerate(ORDERS)]
    acked = [Acked("p.0", "orders", 0, key, number, 10 + number) for number, key in enumerate(ORDERS)]
    payments = [Sent("t.0", "payments", 0, key, 5) for key in [*PAID, *DROPPED]]
    copies = [Sent("c.0", "copies", 0, key, 6) for key in COPIED]
    batches = [[0, 1, 0, 71, 1000, 0, 0], [2, 2, 1, 72, 1000, 0, 2]]
    return [
        *orders,
        *acked,
        *payments,
        *copies,
        Ended("t.0", 0, COMMITTED, "payments", PAID, 5, 7),
        Ended("t.0", 1, ABORTED, "payments", DROPPED, 7, 8),
        Ended("c.0", 0, COMMITTED, "copies", COPIED, 20, 21),
        Read("watcher", EVERYTHING, "orders", 0, [0, 1], ORDERS[:2], 12),
        Read("watcher", COMMITTED_ONLY, "payments", 0, [0, 1], PAID, 12),
        Resumed(GROUP, "m1", "orders", 0, 0, 12, 13),
        Commit(GROUP, "m1", "orders", 0, 2, 14, 15),
        Resumed(GROUP, "m2", "orders", 0, 2, 16, 17),
        Commit(GROUP, "m2", "orders", 0, 3, 18, 19),
        Final(EVERYTHING, "orders", 0, [0, 1, 2], ORDERS, 3),
        Final(COMMITTED_ONLY, "orders", 0, [0, 1, 2], ORDERS, 3),
        Final(EVERYTHING, "payments", 0, [0, 1, 3], [*PAID, *DROPPED], 5),
        Final(COMMITTED_ONLY, "payments", 0, [0, 1], PAID, 5),
        Final(EVERYTHING, "copies", 0, [0, 1, 2], COPIED, 4),
        Final(COMMITTED_ONLY, "copies", 0, [0, 1, 2], COPIED, 4),
        FinalCommit(GROUP, "orders", 0, 3, 30),
        FinalCommit("copiers", "orders", 0, 3, 30),
        Stored("broker-1", "orders", 0, batches),
        Stored("broker-2", "orders", 0, batches),
    ]


def changed(kind: type[E], change: Callable[[E], Event | None], *, where: Callable[[E], bool]) -> list[Event]:
    """The sound history with every event of a kind for which `where` holds changed, or taken out."""
    found = []
    hits = 0
    for event in sound():
        if isinstance(event, kind) and where(event):
            hits += 1
            other = change(event)
            found += [] if other is None else [other]
        else:
            found.append(event)
    assert hits
    return found


def log(topic: str, isolation: str, offsets: list[int], keys: list[str], end: int | None = None) -> list[Event]:
    """The sound history with another final view of a topic."""

    def other(final: Final) -> Final:
        return dataclasses.replace(final, offsets=offsets, keys=keys, end=final.end if end is None else end)

    return changed(Final, other, where=lambda final: (final.topic, final.isolation) == (topic, isolation))


def outcome(of: list[str], told: str) -> list[Event]:
    return changed(
        Ended, lambda ended: dataclasses.replace(ended, outcome=told), where=lambda ended: list(ended.keys) == of
    )


def stored(batches: list[list[int]]) -> list[Event]:
    return changed(
        Stored, lambda log: dataclasses.replace(log, batches=batches), where=lambda log: log.replica == "broker-2"
    )


def copied(keys: list[str]) -> list[Event]:
    return log("copies", COMMITTED_ONLY, list(range(len(keys))), keys)


CORRUPTED: dict[str, tuple[Kind, list[Event]]] = {
    "an acknowledged record is not there": (Kind.LOST, log("orders", EVERYTHING, [0, 1], ORDERS[:2], 2)),
    "a record that was acknowledged by way of a later one is not there": (
        Kind.LOST,
        [*sound(), Acked("p.0", "orders", 0, "p.0|0|3", None, 14)],
    ),
    "an acknowledged record is elsewhere": (
        Kind.LOST,
        log("orders", EVERYTHING, [0, 1, 2], [ORDERS[1], ORDERS[0], ORDERS[2]]),
    ),
    "a record is there twice": (Kind.DUPLICATED, log("orders", EVERYTHING, [0, 1, 2, 3], [*ORDERS, ORDERS[0]], 4)),
    "a later record is before an earlier one": (
        Kind.OUT_OF_ORDER,
        log("orders", EVERYTHING, [0, 1, 2], [ORDERS[0], ORDERS[2], ORDERS[1]]),
    ),
    "what was read is gone": (Kind.VANISHED, log("orders", EVERYTHING, [0], ORDERS[:1], 1)),
    "what was read is something else": (
        Kind.VANISHED,
        log("orders", EVERYTHING, [0, 1, 2], [ORDERS[0], ORDERS[2], ORDERS[1]]),
    ),
    "what was read as committed was not": (Kind.VANISHED, log("payments", COMMITTED_ONLY, [], [])),
    "nobody sent it": (Kind.INVENTED, log("orders", EVERYTHING, [0, 1, 2, 3], [*ORDERS, "p.0|0|9"], 4)),
    "an offset has no record": (Kind.HOLE, log("orders", EVERYTHING, [0, 1, 3], ORDERS, 4)),
    "the log ends before the high watermark": (Kind.HOLE, log("orders", EVERYTHING, [0, 1, 2], ORDERS, 4)),
    "the log does not begin at 0": (Kind.HOLE, log("orders", EVERYTHING, [1, 2, 3], ORDERS, 4)),
    "a replica has a gap": (Kind.HOLE, stored([[0, 1, 0, 71, 1000, 0, 0], [3, 3, 1, 72, 1000, 0, 3]])),
    "nothing was read in the end": (
        Kind.UNREAD,
        changed(Final, lambda _: None, where=lambda final: final.topic == "payments"),
    ),
    "a replica has another batch": (Kind.DIVERGED, stored([[0, 1, 0, 71, 1000, 0, 0], [2, 2, 1, 99, 1000, 0, 2]])),
    "a replica has it in another epoch": (
        Kind.DIVERGED,
        stored([[0, 1, 0, 71, 1000, 0, 0], [2, 2, 2, 72, 1000, 0, 2]]),
    ),
    "epochs fall": (Kind.EPOCH_BACK, stored([[0, 1, 2, 71, 1000, 0, 0], [2, 2, 1, 72, 1000, 0, 2]])),
    "a committed transaction is there in part": (Kind.TORN, log("payments", COMMITTED_ONLY, [0], PAID[:1])),
    "a committed transaction is missing": (Kind.TORN, log("payments", COMMITTED_ONLY, [], [])),
    "an aborted transaction is visible": (
        Kind.TORN,
        log("payments", COMMITTED_ONLY, [0, 1, 3], [*PAID, *DROPPED]),
    ),
    "an undecided transaction is there in part": (
        Kind.TORN,
        [
            event
            for event in log("payments", COMMITTED_ONLY, [0], PAID[:1])
            if not (isinstance(event, Ended) and list(event.keys) == PAID)
        ]
        + [Ended("t.0", 0, UNKNOWN, "payments", PAID, 5, 7)],
    ),
    "a transaction never ends": (Kind.HANGING, log("payments", COMMITTED_ONLY, [0, 1], PAID, 3)),
    "the only holder is fenced": (Kind.FENCED, [*sound(), Trouble("t.0", "_FENCED: by nobody", True, 9)]),
    "an order was copied twice": (Kind.COPY, copied([*COPIED, COPIED[0]])),
    "an order was not copied": (Kind.COPY, copied([COPIED[0], COPIED[2]])),
    "orders were copied in another order": (Kind.COPY, copied([COPIED[1], COPIED[0], COPIED[2]])),
    "copied, and its offset not committed": (
        Kind.COPY,
        changed(
            FinalCommit,
            lambda commit: dataclasses.replace(commit, offset=2),
            where=lambda commit: commit.group == "copiers",
        ),
    ),
    "a member went on before what was committed": (
        Kind.COMMIT_BACK,
        changed(
            Resumed,
            lambda resumed: dataclasses.replace(resumed, offset=1),
            where=lambda resumed: resumed.member == "m2",
        ),
    ),
    "a group ends before what was committed": (
        Kind.COMMIT_BACK,
        changed(
            FinalCommit,
            lambda commit: dataclasses.replace(commit, offset=-1),
            where=lambda commit: commit.group == GROUP,
        ),
    ),
    "a lower commit was accepted": (Kind.COMMIT_BACK, [*sound(), Commit(GROUP, "m1", "orders", 0, 2, 20, 21)]),
    "a reader is sent away": (Kind.REFUSED, [*sound(), Trouble("watcher", "OFFSET_OUT_OF_RANGE: no", False, 9)]),
}


def test_a_sound_history_is_found_sound() -> None:
    assert check(sound()) == []


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_corrupted_history_is_found_out(name: str) -> None:
    kind, history = CORRUPTED[name]
    assert kind in {violation.kind for violation in check(history)}


@pytest.mark.parametrize("index", range(len(CHECKS)), ids=[each.__name__ for each in CHECKS])
def test_no_check_is_there_for_nothing(index: int) -> None:
    """Each finds something in one of the corrupted histories."""
    assert any(list(CHECKS[index](history)) for _, history in CORRUPTED.values())


def test_every_kind_that_a_history_can_show_has_a_corrupted_one() -> None:
    assert {kind for kind, _ in CORRUPTED.values()} == set(Kind) - {Kind.STUCK, Kind.ENDED}


@pytest.mark.parametrize("visible", [[], PAID], ids=["nothing", "all"])
def test_an_undecided_transaction_may_be_whole_or_nothing(visible: list[str]) -> None:
    events = [event for event in outcome(PAID, UNKNOWN) if not isinstance(event, Read | Final)]
    finals = [
        dataclasses.replace(event, offsets=list(range(len(visible))), keys=visible)
        if (event.topic, event.isolation) == ("payments", COMMITTED_ONLY)
        else event
        for event in sound()
        if isinstance(event, Final)
    ]
    assert check([*events, *finals]) == []


def test_what_was_given_up_may_be_there_or_not() -> None:
    given_up = changed(Acked, lambda _: None, where=lambda acked: acked.offset == 2)
    assert check(given_up) == []


def test_a_record_may_be_acknowledged_by_way_of_a_later_one() -> None:
    told_of_none = changed(
        Acked, lambda acked: dataclasses.replace(acked, offset=None), where=lambda acked: acked.offset == 1
    )
    assert check(told_of_none) == []


def test_what_a_producer_wrote_again_under_another_epoch_is_its_own() -> None:
    batches = [[0, 1, 0, 71, 1000, 0, 0], [2, 2, 1, 72, 1000, 0, 2], [3, 3, 1, 73, 1000, 1, 0]]
    twice = changed(
        Final,
        lambda final: dataclasses.replace(final, offsets=[0, 1, 2, 3], keys=[*ORDERS, ORDERS[1]], end=4),
        where=lambda final: final.topic == "orders",
    )
    again = [event for event in twice if not (isinstance(event, FinalCommit) and event.group == "copiers")]
    again.append(Stored("broker-3", "orders", 0, batches))
    assert check(again) == []
    assert sent_again(again) == 1
    assert sent_again(CORRUPTED["a record is there twice"][1]) == 0


def test_a_commit_that_failed_binds_nobody() -> None:
    failed = Commit(GROUP, "m1", "orders", 0, 9, 14, 15, "REQUEST_TIMED_OUT")
    assert check([*sound(), failed]) == []


def test_commits_at_the_same_time_have_no_order() -> None:
    assert check([*sound(), Commit(GROUP, "m1", "orders", 0, 2, 18.5, 21)]) == []

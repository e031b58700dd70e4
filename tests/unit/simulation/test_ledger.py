"""The simulation's judge: each broken promise is a violation, and a kept one is not."""

import pytest

from millstream_simulation.ledger import Ledger
from millstream_simulation.story import Story, Violation


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Story(lambda: 0.0))


def sent(ledger: Ledger, count: int, producer: str = "p") -> list[bytes]:
    return [ledger.next_value(producer, 0) for _ in range(count)]


def test_a_log_with_everything_once_and_in_order_is_fine(ledger: Ledger) -> None:
    a, b = sent(ledger, 2, "a"), sent(ledger, 1, "b")
    ledger.note_acknowledged(0, 0, a[0])
    ledger.note_acknowledged(0, 2, a[1])
    ledger.note_read(0, 1, b[0])
    ledger.check_log(0, [(0, a[0]), (1, b[0]), (2, a[1])])
    assert ledger.acknowledged == 2


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        ([0, 1], "acknowledged b'p 0 2'"),
        ([0, 2, 1], "acknowledged"),
        ([0, 1, 2, 2], "doubled"),
    ],
)
def test_lost_swapped_and_doubled_records_are_violations(ledger: Ledger, order: list[int], complaint: str) -> None:
    values = sent(ledger, 3)
    for offset, value in enumerate(values):
        ledger.note_acknowledged(0, offset, value)
    with pytest.raises(Violation, match=complaint):
        ledger.check_log(0, [(offset, values[number]) for offset, number in enumerate(order)])


def test_a_gap_among_unacknowledged_records_is_a_violation(ledger: Ledger) -> None:
    values = sent(ledger, 3)
    with pytest.raises(Violation, match="missing"):
        ledger.check_log(0, [(0, values[0]), (1, values[2])])


@pytest.mark.parametrize("value", [b"p 0 3", b"q 0 0", b"p 1 0", b"noise"])
def test_what_nobody_sent_is_a_violation(ledger: Ledger, value: bytes) -> None:
    sent(ledger, 3)
    with pytest.raises(Violation, match="nobody sent"):
        ledger.note_read(0, 0, value)


def test_an_offset_holds_one_record_for_ever(ledger: Ledger) -> None:
    values = sent(ledger, 2)
    ledger.note_read(0, 0, values[0])
    with pytest.raises(Violation, match="held"):
        ledger.note_read(0, 0, values[1])
    ledger.note_acknowledged(0, 1, values[1])
    with pytest.raises(Violation, match="acknowledged for"):
        ledger.note_acknowledged(0, 1, values[0])


def test_commits_never_go_back(ledger: Ledger) -> None:
    ledger.note_commit("g", 0, 5)
    ledger.note_fetched_commit("g", 0, at_least=5, offset=7)
    with pytest.raises(Violation, match="was told 4"):
        ledger.note_fetched_commit("g", 0, at_least=5, offset=4)
    with pytest.raises(Violation, match="after 5"):
        ledger.note_commit("g", 0, 4)


def test_the_story_s_digest_follows_from_its_events() -> None:
    one, two = Story(lambda: 1.5), Story(lambda: 1.5)
    for story in (one, two):
        story.add("killed", process="broker-1")
    assert one.digest == two.digest
    two.add("started", process="broker-1")
    assert one.digest != two.digest

"""How far groups were behind, over time, in a bounded ring for each."""

from millstream_client.groups import Lag
from millstream_console.groups.history import GROUPS_MAX, MOST, History, Sums

ENDLESS = (1 << 63) - 1


def test_an_offset_that_anybody_may_commit_does_no_harm() -> None:
    sums = Sums.of([Lag("t", index, ENDLESS, 0, 0) for index in range(2)])
    history = History(samples=2)
    history.add(1_000, {"group": sums})
    assert [found.committed for _, found in history.of("group")] == [MOST]


def test_groups_that_come_and_go_are_forgotten_beyond_a_bound_the_present_ones_are_not() -> None:
    history = History()
    stays = {"stays": Sums(1, 2, 3)}
    for turn in range(3):
        history.add(turn, stays | {f"{turn}-{number}": Sums(0, 0, 0) for number in range(GROUPS_MAX - 1)})
    assert len(history) == GROUPS_MAX
    assert [when for when, _ in history.of("stays")] == [0, 1, 2]

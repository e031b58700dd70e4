"""The explorer finds what can go wrong, by the shortest way, and says truly how much it has tried."""

from collections.abc import Iterator

import pytest

from millstream_simulation.explorer.explore import Broken, exhaust, replayed, shorten, wander
from millstream_simulation.story import Violation

Event = tuple[str, str]


class Register:
    """Some clients add one to a number by reading it and writing it back."""

    def __init__(self, clients: tuple[str, ...] = ("one", "other"), times: int = 1) -> None:
        self.value = 0
        self.done = 0
        self.read: dict[str, int] = {}
        self.left = dict.fromkeys(clients, times)

    def events(self) -> Iterator[Event]:
        for name, left in self.left.items():
            if name in self.read:
                yield "writes", name
            elif left:
                yield "reads", name

    def happen(self, event: Event) -> None:
        what, name = event
        if what == "reads":
            self.left[name] -= 1
            self.read[name] = self.value
        else:
            self.value = self.read.pop(name) + 1
            self.done += 1

    def check(self) -> None:
        if self.value != self.done:
            raise Violation("an increment is lost")

    def fingerprint(self) -> tuple[object, ...]:
        return self.value, self.done, *sorted(self.read.items()), *sorted(self.left.items())

    def copy(self) -> "Register":
        other = type(self)()
        other.value, other.done = self.value, self.done
        other.read, other.left = dict(self.read), dict(self.left)
        return other


class Careful(Register):
    """Only one reads at a time."""

    def events(self) -> Iterator[Event]:
        return ((what, name) for what, name in super().events() if what == "writes" or not self.read)


LOST = (("reads", "one"), ("reads", "other"), ("writes", "one"), ("writes", "other"))


def test_what_breaks_a_promise_is_found_by_the_shortest_way() -> None:
    explored = exhaust([Register(times=3)], steps_max=12)
    assert explored.broken == Broken("Violation: an increment is lost", LOST)
    assert not explored.complete
    assert str(explored.broken).splitlines()[-1] == "  4. ('writes', 'other')"


def test_every_order_is_tried_and_every_state_met_once() -> None:
    explored = exhaust([Careful(("one", "other", "third"))], steps_max=12)
    assert explored.broken is None
    assert explored.complete
    assert explored.states == 8 + 3 * 4, "which of the three are done, and which of the others has read"
    assert explored.happened == {"reads": 12, "writes": 12}
    assert explored.steps == 24
    assert explored.schedules == 24 - 19 + 1, "each step to a known state ends a schedule, and so does the last state"


def test_bounds_are_said_to_be_bounds() -> None:
    assert exhaust([Careful(times=5)], steps_max=3).deepest == 3
    explored = exhaust([Careful(times=5)], steps_max=50, states_max=4)
    assert explored.states == 4
    assert not explored.complete


def test_an_initial_state_may_be_wrong_already() -> None:
    wrong = Register()
    wrong.value = 1
    assert exhaust([Careful(), wrong], steps_max=9).broken == Broken("Violation: an increment is lost", ())
    assert wander(lambda: wrong, seed=1, schedules=1, steps_max=9).broken is not None


@pytest.mark.parametrize("seed", range(5))
def test_random_schedules_find_it_too_and_leave_only_what_is_needed(seed: int) -> None:
    explored = wander(lambda: Register(("a", "b", "c"), times=9), seed=seed, schedules=100, steps_max=40)
    assert explored.broken is not None
    assert len(explored.broken.trace) == 4
    assert [what for what, _ in explored.broken.trace] == ["reads", "reads", "writes", "writes"]


def test_the_same_seed_takes_the_same_schedules() -> None:
    found = [wander(lambda: Careful(times=9), seed=7, schedules=20, steps_max=30) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].schedules == 20


def test_an_event_that_is_not_possible_is_left_out_of_a_replay() -> None:
    assert replayed(Register, LOST[1:]) is None
    longer = (LOST[0], LOST[0], *LOST[1:])
    assert replayed(Register, longer) == Broken("Violation: an increment is lost", LOST)


def test_a_trace_is_shortened_to_what_breaks_the_promise() -> None:
    broken = replayed(lambda: Register(times=4), (("reads", "one"), ("writes", "one")) * 3 + LOST)
    assert broken is not None
    assert len(broken.trace) == 10
    assert shorten(lambda: Register(times=4), broken).trace == LOST

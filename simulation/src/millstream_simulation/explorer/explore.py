"""Tries what may happen to machines that decide without a clock and without I/O, and prints the shortest way to a broken promise.

A `System` is some machines and what lies between them: messages under way, files, a store. It says which events are
possible now and lets one happen. There are two ways to explore one:

- `exhaust` tries every order of events, breadth first, and meets each state once (its `fingerprint`). What it finds
  is therefore found by a shortest trace. With `complete` in the result, there is nothing else within these bounds.
- `wander` takes random schedules, for systems that are too large to exhaust. `shorten` then takes out of the trace
  what is not needed to break a promise.

Whatever `happen` or `check` raises is a finding. That includes the `assert`s of the machines themselves.

A register that two clients change by reading it and writing it back:

    class Register(System[tuple[str, str]]):
        def __init__(self) -> None:
            self.value, self.read, self.done = 0, {}, 0
        def events(self):
            for name in ("one", "other"):
                yield ("write" if name in self.read else "read", name)
        def happen(self, event):
            what, name = event
            if what == "read":
                self.read[name] = self.value
            else:
                self.value = self.read.pop(name) + 1
                self.done += 1
        def check(self):
            assert self.value == self.done, "an increment is lost"
        def fingerprint(self):
            return self.value, self.done, *sorted(self.read.items())
        def copy(self):
            return copy.deepcopy(self)

    print(exhaust([Register()], steps_max=6))

That prints the four events that lose an increment. `connections.py` has the messages of a system: they are lost, late or sent
again as connections lose, delay and repeat them. `ring.py` is a whole example.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

E = TypeVar("E", bound=Hashable)


class System(Protocol[E]):
    """Deterministic: what `events` yields, and its order, follows from the state alone."""

    def events(self) -> Iterable[E]:
        """What may happen next. Bounds belong here too: a crash that has been used up is not possible any more."""

    def happen(self, event: E) -> None: ...

    def check(self) -> None:
        """Raise unless every invariant holds; called after each event."""

    def fingerprint(self) -> Hashable:
        """Equal only for states from which the same can follow."""

    def copy(self) -> Self:
        """Another system in the same state, independent of this one."""


@dataclass(frozen=True, slots=True)
class Broken(Generic[E]):
    """How a promise was broken: this from the first state on, event by event."""

    complaint: str
    trace: tuple[E, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  {number}. {event}" for number, event in enumerate(self.trace, 1))
        return f"{self.complaint}\n{steps}"


@dataclass(slots=True)
class Explored(Generic[E]):
    """What was tried. A schedule is one order of events, counted when it ends: nothing can follow, a bound, or a known state."""

    schedules: int = 0
    steps: int = 0
    states: int = 0
    deepest: int = 0
    complete: bool = False
    """Whether every schedule within `steps_max` was tried (`exhaust` only)."""
    happened: Counter[str] = field(default_factory=Counter)
    """How often each kind of event happened; what never did was not explored."""
    broken: Broken[E] | None = None

    def __str__(self) -> str:
        verdict = "ok" if self.broken is None else f"BROKEN {self.broken}"
        extent = "all" if self.complete else "some"
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.happened.items()))
        return (
            f"{self.schedules} schedules ({extent} of them), {self.steps} steps, {self.states} states, "
            f"{self.deepest} events deep; {kinds}; {verdict}"
        )


def exhaust(begins: Iterable[System[E]], *, steps_max: int, states_max: int = 1_000_000) -> Explored[E]:
    """Try every schedule of at most `steps_max` events, until a promise breaks or `states_max` states are known."""
    explored = Explored[E](complete=True)
    known: set[Hashable] = set()
    came_by: list[tuple[int, E | None]] = []  # of each state: the state before, and the event between
    waiting: deque[tuple[System[E], int, int]] = deque()
    for system in begins:
        explored.broken = explored.broken or _broken_at_once(system)
        if (fingerprint := system.fingerprint()) not in known:
            known.add(fingerprint)
            waiting.append((system, len(came_by), 0))
            came_by.append((-1, None))
    while waiting and explored.broken is None:
        system, number, depth = waiting.popleft()
        events = list(system.events()) if depth < steps_max else []
        explored.schedules += not events
        for event in events:
            following = system.copy()
            explored.steps += 1
            explored.happened[_kind(event)] += 1
            explored.deepest = max(explored.deepest, depth + 1)
            complaint = _happen(following, event)
            if complaint is not None:
                explored.broken = Broken(complaint, (*_trace(came_by, number), event))
                break
            if (fingerprint := following.fingerprint()) in known:
                explored.schedules += 1
                continue
            if len(known) >= states_max:
                explored.complete = False
                waiting.clear()
                break
            known.add(fingerprint)
            waiting.append((following, len(came_by), depth + 1))
            came_by.append((number, event))
    explored.states = len(known)
    explored.complete = explored.complete and explored.broken is None
    return explored


def wander(
    begin: Callable[[], System[E]], *, seed: int, schedules: int, steps_max: int, states_max: int = 1_000_000
) -> Explored[E]:
    """Take random schedules until a promise breaks; the trace found is then made as short as it goes."""
    draw = random.Random(seed)
    explored = Explored[E]()
    known: set[Hashable] = set()
    first = begin()
    explored.broken = _broken_at_once(first)
    while explored.schedules < schedules and explored.broken is None:
        system, trace = first.copy(), list[E]()
        explored.schedules += 1
        while len(trace) < steps_max and (events := list(system.events())):
            event = draw.choice(events)
            trace.append(event)
            explored.steps += 1
            explored.happened[_kind(event)] += 1
            complaint = _happen(system, event)
            if len(known) < states_max:
                known.add(system.fingerprint())
            if complaint is not None:
                explored.broken = shorten(begin, Broken(complaint, tuple(trace)))
                break
        explored.deepest = max(explored.deepest, len(trace))
    explored.states = len(known)
    return explored


def shorten(begin: Callable[[], System[E]], broken: Broken[E]) -> Broken[E]:
    """Leave out what is not needed to break a promise: halves first, then quarters, then single events.

    It may end at another promise than it began with; that one is broken as well, and by less.
    """
    size = max(1, len(broken.trace) // 2)
    while True:
        at, found = 0, False
        while at < len(broken.trace):
            shorter = replayed(begin, broken.trace[:at] + broken.trace[at + size :])
            if shorter is not None:
                broken, found = shorter, True
            else:
                at += size
        if size == 1 and not found:
            return broken
        size = max(1, size // 2)


def replayed(begin: Callable[[], System[E]], trace: Sequence[E]) -> Broken[E] | None:
    """Let a trace happen again, without the events that are not possible; None if no promise breaks."""
    system = begin()
    done: list[E] = []
    for event in trace:
        if event not in system.events():
            continue
        done.append(event)
        complaint = _happen(system, event)
        if complaint is not None:
            return Broken(complaint, tuple(done))
    return None


def _broken_at_once(system: System[E]) -> Broken[E] | None:
    complaint = _complaint(system.check)
    return None if complaint is None else Broken(complaint, ())


def _happen(system: System[E], event: E) -> str | None:
    def step() -> None:
        system.happen(event)
        system.check()

    return _complaint(step)


def _complaint(step: Callable[[], None]) -> str | None:
    try:
        step()
    except Exception as error:  # whatever a core raises that its caller does not expect is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def _trace(came_by: Sequence[tuple[int, E | None]], number: int) -> tuple[E, ...]:
    events: list[E] = []
    while number >= 0:
        number, event = came_by[number]
        if event is not None:
            events.append(event)
    return tuple(reversed(events))


def _kind(event: Hashable) -> str:
    return str(event[0]) if isinstance(event, tuple) and type(event) is tuple else type(event).__name__

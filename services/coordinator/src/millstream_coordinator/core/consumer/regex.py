"""Regular expressions as RE2 has them (what Java clients send for a group to be resolved here), matched in linear time.

The pattern comes from anybody: no backtracking engine may see it. It is compiled to states that are walked all at once
(Thompson), and refused if it is too long, has too many states, or is of a kind that RE2 does not have either
(back references, looking around).

Left out: Unicode classes (\\p{Greek}), which no topic name can match by more than ASCII.
"""

from collections.abc import Iterable

from millstream_coordinator.core.consumer.regex_syntax import (
    Alternatives,
    AtEnd,
    AtStart,
    Characters,
    Expression,
    RegexError,
    Repeated,
    Sequenced,
    parse,
)

__all__ = ["RegexError", "TopicPattern"]

STATES_MAX = 1_000
STEPS_MAX = 500_000
"""Over all names that one resolution matches: what it may cost, whatever the pattern."""
CACHE_MAX = 2_000


class TopicPattern:
    """Matches whole names."""

    def __init__(self, pattern: str) -> None:
        self._characters: list[Characters | AtStart | AtEnd | None] = []
        """What a state consumes (or asserts); None for one that only leads on."""
        self._next: list[list[int]] = []
        self._end = self._state(None)
        self._start = self._build(parse(pattern), self._end)
        self._known: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._steps = 0

    def matching(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names that match, sorted; a RegexError if finding out takes too long."""
        self._steps = 0
        return tuple(sorted(name for name in names if self.matches(name)))

    def matches(self, name: str) -> bool:
        states = self._closure({self._start}, at_start=True, at_end=not name)
        for index, character in enumerate(name):
            states = self._step(states, character, at_end=index == len(name) - 1)
            if not states:
                return False
        return self._end in states

    def _step(self, states: frozenset[int], character: str, *, at_end: bool) -> frozenset[int]:
        key = (states, character)
        if not at_end and key in self._known:
            return self._known[key]
        reached: set[int] = set()
        for state in states:
            consumed = self._characters[state]
            if isinstance(consumed, Characters) and consumed.contains(character):
                reached.update(self._next[state])
        self._steps += len(states)
        if self._steps > STEPS_MAX:
            raise RegexError("it takes too long to match")
        closed = self._closure(reached, at_start=False, at_end=at_end)
        if not at_end and len(self._known) < CACHE_MAX:
            self._known[key] = closed
        return closed

    def _closure(self, states: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """All states that are reached without consuming anything."""
        found, open_states = set(states), list(states)
        while open_states:
            state = open_states.pop()
            kind = self._characters[state]
            if isinstance(kind, Characters) or (isinstance(kind, AtStart) and not at_start):
                continue
            if isinstance(kind, AtEnd) and not at_end:
                continue
            for following in self._next[state]:
                if following not in found:
                    found.add(following)
                    open_states.append(following)
        self._steps += len(found)
        return frozenset(found)

    # Building

    def _state(self, consumed: Characters | AtStart | AtEnd | None, *following: int) -> int:
        if len(self._characters) >= STATES_MAX:
            raise RegexError("it is too large")
        self._characters.append(consumed)
        self._next.append(list(following))
        return len(self._characters) - 1

    def _build(self, expression: Expression, after: int) -> int:
        """The state in which to begin to match the expression, with what comes after it."""
        match expression:
            case Characters() | AtStart() | AtEnd():
                return self._state(expression, after)
            case Sequenced():
                for part in reversed(expression.parts):
                    after = self._build(part, after)
                return after
            case Alternatives():
                return self._state(None, *(self._build(option, after) for option in expression.options))
            case Repeated():
                return self._repeat(expression, after)

    def _repeat(self, repeated: Repeated, after: int) -> int:
        if repeated.most is None:
            loop = self._state(None, after)
            self._next[loop].append(self._build(repeated.expression, loop))
            after = loop
        else:
            end = after
            for _ in range(repeated.most - repeated.least):
                after = self._state(None, end, self._build(repeated.expression, after))
        for _ in range(repeated.least):
            after = self._build(repeated.expression, after)
        return after

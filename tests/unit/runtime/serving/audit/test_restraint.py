"""How much is said: repetitions once a minute, a few from each a second, and every one of them counted somewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_runtime.serving.audit import restraint as module
from millstream_runtime.serving.audit.restraint import FOLD_S, FOLDS_MAX, SOURCES_MAX, Restraint

PER_SOURCE = 3
IN_ALL = 10


@pytest.fixture
def restraint() -> Restraint[str]:
    return Restraint(PER_SOURCE, IN_ALL)


def test_what_is_repeated_is_said_once_and_counted(restraint: Restraint[str]) -> None:
    assert [restraint.note("e", "mallory", second) for second in range(5)] == [0, None, None, None, None]
    assert restraint.due(FOLD_S - 1) == []
    assert restraint.due(FOLD_S) == [("e", 4)]
    assert restraint.note("e", "mallory", FOLD_S) == 0, "a minute later it is said again"


def test_what_was_not_repeated_is_not_said_again(restraint: Restraint[str]) -> None:
    restraint.note("e", "mallory", 0.0)
    assert restraint.due(FOLD_S) == []
    assert restraint.next_due_s is None


def test_one_has_a_few_a_second_and_does_not_take_those_of_others(restraint: Restraint[str]) -> None:
    said = [restraint.note(f"m{number}", "mallory", 0.0) for number in range(100)]
    assert said == [0] * PER_SOURCE + [None] * (100 - PER_SOURCE)
    assert restraint.note("b", "bob", 0.0) == 100 - PER_SOURCE, "what was left out is said with what comes next"
    assert restraint.note("b2", "bob", 0.0) == 0
    assert restraint.note("m100", "mallory", 1.0) == 0


def test_many_together_have_no_more_than_anybody_reads(restraint: Restraint[str]) -> None:
    said = [restraint.note(f"m{number}", f"from {number}", 0.0) for number in range(1_000)]
    assert said.count(None) == 1_000 - IN_ALL


def test_nothing_grows_with_what_others_do() -> None:
    restraint = Restraint[str](1, 1_000_000)
    said = [restraint.note(f"m{number}", f"from {number}", 0.0) for number in range(3 * SOURCES_MAX)]
    assert said.count(0) == SOURCES_MAX + 1, "those beyond share one allowance"
    assert len(restraint._said) == SOURCES_MAX + 1
    assert len(restraint._folds) == FOLDS_MAX


steps = st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y"]), st.floats(0, 30))


@given(st.lists(steps, max_size=60))
def test_each_is_said_or_counted(course: list[tuple[str, str, float]]) -> None:
    restraint, now_s, told = Restraint[tuple[str, str]](1, 2), 0.0, 0
    for event, source, passed_s in course:
        now_s += passed_s
        told += sum(repeated for _, repeated in restraint.due(now_s))
        left_out = restraint.note((event, source), source, now_s)
        told += 0 if left_out is None else 1 + left_out
    told += sum(repeated for _, repeated in restraint.due(now_s + module.FOLD_S)) + restraint._left_out
    assert told == len(course)

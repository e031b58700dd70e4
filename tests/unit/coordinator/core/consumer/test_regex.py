"""Regular expressions: what they match, what is refused, and that none of them can hold the coordinator up."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.consumer.regex import RegexError, TopicPattern


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("topic-.*", "topic-1", "a-topic-1"),
        ("^topic-[0-9]+$", "topic-10", "topic-x"),
        ("a|b{2,3}", "bbb", "b"),
        ("a{2,}", "aaaa", "a"),
        ("a{x}", "a{x}", "a"),
        ("(?i)ABC[x-z]", "abcY", "abcw"),
        ("(?i:a)b", "Ab", "AB"),
        (r"\Qa.b\E.*", "a.b-c", "axb-c"),
        ("[[:alpha:]_-]+", "a_b-c", "a1"),
        ("[^.]+", "a-b", "a.b"),
        (r"\d\w\.\x41", "1_.A", "a_.A"),
        ("(?P<name>x)(?<other>y)?", "x", "y"),
        ("(a*)*b", "aab", "aa"),
        ("", "", "a"),
        ("x??y+?", "yy", "x"),
        ("[]a]", "]", "b"),
        ("a$b|c", "c", "ab"),
    ],
)
def test_it_matches_whole_names(pattern: str, matching: str, other: str) -> None:
    compiled = TopicPattern(pattern)
    assert compiled.matches(matching)
    assert not compiled.matches(other)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "[z-a]",
        "(?=a)",
        "(?<=a)b",
        r"\1",
        "*",
        "a**",
        "a{2000}",
        "(a{99}){99}",
        "\\",
        "[[:no:]]",
        "(" * 99,
    ],
)
def test_what_re2_would_not_take_either_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        TopicPattern(pattern)


@given(st.text("ab.*+?|()[]^$-{}\\,1d", max_size=12), st.text("ab1-.", max_size=6))
def test_any_text_is_a_pattern_or_refused(pattern: str, name: str) -> None:
    try:
        matches = TopicPattern(pattern).matches(name)
    except RegexError:
        return
    if pattern.isascii() and not set(pattern) & set("{[^$") and "(?" not in pattern:
        assert matches == bool(re.fullmatch(pattern, name))


def test_what_would_take_too_long_is_given_up() -> None:
    evil = TopicPattern("(.*a){20}.{0,150}c")
    with pytest.raises(RegexError):
        evil.matching(f"{'ab' * 120}{number}" for number in range(100_000))

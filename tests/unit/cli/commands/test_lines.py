"""How a line of input becomes a record, and where `consume` begins."""

from collections.abc import Sequence

import pytest

from millstream.commands.consume import Start, parse_start
from millstream.commands.pairs import parse_pairs
from millstream.commands.produce import Line, LineReader
from millstream.main import command_parser
from millstream_client.errors import InvalidData
from millstream_client.offsets import EARLIEST, LATEST


def read(text: str, *arguments: str) -> Line:
    options = command_parser().parse_args(["produce", "topic", *arguments])
    return LineReader(options).read(text.encode(), 1)


def test_a_line_is_a_value() -> None:
    assert read("a b") == Line(None, b"a b", (), None)


def test_a_line_with_a_key() -> None:
    assert read("k: v: w", "--key-separator", ": ") == Line(b"k", b"v: w", (), None)
    assert read("v", "--key", "k", "--header", "n=x=y", "--partition", "2") == Line(b"k", b"v", (("n", b"x=y"),), 2)


def test_formats() -> None:
    line = read("1=2", "--key-separator", "=", "--key-format", "int", "--value-format", "long")
    assert (line.key, line.value) == (b"\0\0\0\1", b"\0\0\0\0\0\0\0\2")
    assert read("anything", "--value-format", "null").value is None


def test_json_lines() -> None:
    line = read('{"key": "k", "value": "v", "headers": {"h": "x"}, "partition": 1, "timestamp": 5}', "--json")
    assert line == Line(b"k", b"v", (("h", b"x"),), 1, 5)
    assert read('{"value": null}', "--json", "--key", "k") == Line(b"k", None, (), None)
    assert read('{"value": {"a": 1}}', "--json", "--value-format", "json").value == b'{"a":1}'


@pytest.mark.parametrize(
    ("text", "arguments", "complaint"),
    [
        ("no key", ["--key-separator", "="], "line 1: no '=' after a key"),
        ("x", ["--value-format", "int"], "line 1: 'x' is no int"),
        ("[1]", ["--json"], "line 1: an object"),
        ('{"vlaue": 1}', ["--json"], "line 1: an object"),
        ("{", ["--json"], "line 1: "),
        ('{"value": "v", "partition": -1}', ["--json"], "line 1: partition is no whole number"),
        ('{"value": "v", "timestamp": "now"}', ["--json"], "line 1: timestamp is no whole number"),
        ('{"value": "v", "headers": {"a": 1}}', ["--json"], "line 1: headers"),
        ('{"value": 1}', ["--json"], "line 1: 1 is no string"),
    ],
)
def test_a_bad_line_is_named(text: str, arguments: Sequence[str], complaint: str) -> None:
    with pytest.raises(InvalidData, match=complaint):
        read(text, *arguments)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Start(EARLIEST)),
        ("latest", Start(LATEST)),
        ("42", Start(offset=42)),
        ("2026-01-31T12:00:00+00:00", Start(1769860800000)),
    ],
)
def test_where_to_begin(text: str, start: Start) -> None:
    assert parse_start(text) == start


@pytest.mark.parametrize("text", ["", "-1", "yesterday"])
def test_what_is_no_beginning(text: str) -> None:
    with pytest.raises(InvalidData, match="--from"):
        parse_start(text)


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(InvalidData, match="KEY=VALUE"):
        parse_pairs(["novalue"])

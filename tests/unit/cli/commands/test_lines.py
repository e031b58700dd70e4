"""How a line of input becomes a record, and where `consume` begins."""

import json
from collections.abc import Sequence

import pytest

from millstream.commands.chosen import Chosen
from millstream.commands.consume import Printing
from millstream.commands.pairs import parse_pairs
from millstream.commands.produce import Line, LineReader
from millstream.commands.starts import Start, parse_start
from millstream.commands.template import Template
from millstream.main import command_parser
from millstream_client.errors import InvalidData
from millstream_client.message import Message
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


NOW_MS = 1_769_860_800_000


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Start(EARLIEST)),
        ("latest", Start(LATEST)),
        ("42", Start(offset=42)),
        ("-5", Start(by=-5)),
        ("+5", Start(by=5)),
        ("2026-01-31T12:00:00+00:00", Start(NOW_MS)),
        ("15m", Start(NOW_MS - 900_000)),
        ("7d", Start(NOW_MS - 604_800_000)),
    ],
)
def test_where_to_begin(text: str, start: Start) -> None:
    assert parse_start(text, "--from", NOW_MS) == start


@pytest.mark.parametrize("text", ["", "-", "yesterday", "3w", "-15m"])
def test_what_is_no_beginning(text: str) -> None:
    with pytest.raises(InvalidData, match="--from"):
        parse_start(text, "--from", NOW_MS)


MESSAGE = Message("orders", 1, 42, 1_000, b"alice", b"2 apples", (("trace", b"7f"), ("empty", None)))


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        (r"%t-%p@%o %k=%s\n", b"orders-1@42 alice=2 apples\n"),
        (r"%T\t%K\t%S %h 100%%", b"1000\t5\t8 trace=7f,empty= 100%"),
    ],
)
def test_a_template_is_kcats(text: str, rendered: bytes) -> None:
    assert Template.of(text).render([MESSAGE, MESSAGE]) == 2 * rendered
    assert Template.of("%k%K").render([Message("t", 0, 0, 0, None, b"")]) == b"-1"
    assert Template.of(text).render([]) == b""


ODD = [
    MESSAGE,
    Message("orders", 1, 43, 1_500, None, "geräusch\n".encode()),
    Message("orders", 0, 7, 2_000, b"\xff\0", b"\x1b[2J"),
    Message("orders", 0, 8, -1, b"", None),
    Message("orders", 0, 9, 1_000, 7, {"a": [1.5, "ä"]}, (("n", b"\xff"),)),
]
"""Also what is no text, and what a format has made a number or a document."""


def printed(*arguments: str) -> bytes:
    options = command_parser().parse_args(["consume", "orders", *arguments])
    return Printing(options, Chosen.of(options)).render(ODD)


def test_what_is_printed_of_each_message() -> None:
    assert printed().decode().splitlines() == [
        "orders-1@42  1970-01-01T00:00:01.000Z  alice  2 apples  trace=7f empty=None",
        "orders-1@43  1970-01-01T00:00:01.500Z  -  ger\\xe4usch\\n",
        "orders-0@7  1970-01-01T00:00:02.000Z  0xff00  \\x1b[2J",
        "orders-0@8  -    -",
        "orders-0@9  1970-01-01T00:00:01.000Z  7  {'a': [1.5, 'ä']}  n=0xff",
    ]
    assert printed("--values") == "2 apples\ngeräusch\n\n\x1b[2J\n\n{'a': [1.5, 'ä']}\n".encode()
    assert [json.loads(line) for line in printed("--json").splitlines()] == [
        {
            "topic": each.topic,
            "partition": each.partition,
            "offset": each.offset,
            "timestamp": each.timestamp_ms,
            "key": key,
            "value": value,
            "headers": headers,
        }
        for each, key, value, headers in zip(
            ODD,
            ["alice", None, "0xff00", "", 7],
            ["2 apples", "ger\\xe4usch\\n", "\\x1b[2J", None, {"a": [1.5, "ä"]}],
            [[["trace", "7f"], ["empty", None]], [], [], [], [["n", "0xff"]]],
            strict=True,
        )
    ]


@pytest.mark.parametrize(("text", "complaint"), [("%x", "not %x"), ("100%", "not %"), (r"\q", "not")])
def test_a_template_that_says_nothing(text: str, complaint: str) -> None:
    with pytest.raises(InvalidData, match=complaint):
        Template.of(text)


@pytest.mark.parametrize(
    ("arguments", "takes"),
    [
        ([], True),
        (["--key-matches", "^ali"], True),
        (["--key-matches", "^bob"], False),
        (["--value-matches", r"\d+ apples", "--header-matches", "trace=^7"], True),
        (["--header-matches", "trace=8"], False),
        (["--header-matches", "empty=."], False),
    ],
)
def test_what_is_chosen(arguments: list[str], takes: bool) -> None:
    options = command_parser().parse_args(["consume", "orders", *arguments])
    assert Chosen.of(options).of_all([MESSAGE]) == ([MESSAGE] if takes else [])


def test_a_pattern_that_is_none() -> None:
    options = command_parser().parse_args(["consume", "orders", "--key-matches", "("])
    with pytest.raises(InvalidData, match="--key-matches"):
        Chosen.of(options)


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(InvalidData, match="KEY=VALUE"):
        parse_pairs(["novalue"])

"""Subcommands learn their arguments when one of them is used, and only that one."""

import argparse

import pytest

from millstream.commands.late_parser import LateParser


def test_only_what_is_used_is_filled_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    filled: list[str] = []

    def fill(parser: argparse.ArgumentParser) -> None:
        filled.append(parser.prog)
        parser.add_argument("--number", type=int)

    parser = argparse.ArgumentParser(prog="p")
    commands = parser.add_subparsers(dest="command", parser_class=LateParser)
    for name in ("used", "other"):
        commands.add_parser(name, help=f"what {name} is for", fill=fill)
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    assert "what other is for" in capsys.readouterr().out
    assert filled == []
    assert parser.parse_args(["used", "--number", "3"]).number == 3
    assert parser.parse_args(["used", "--number", "4"]).number == 4
    assert filled == ["p used"]

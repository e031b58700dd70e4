"""Tables and texts for people."""

import pytest

from millstream.commands.output import print_table, text_of, time_text


def test_columns_fit_their_widest_cell_and_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", ">COUNT"), [["a", 5], ["longer", None]])
    assert capsys.readouterr().out == "NAME    COUNT\na           5\nlonger      -\n"


def test_an_empty_table_has_its_titles(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", ">COUNT"), [])
    assert capsys.readouterr().out == "NAME  COUNT\n"


def test_times() -> None:
    assert time_text(1769860800123) == "2026-01-31T12:00:00.123Z"
    assert time_text(-1) == "-"
    assert time_text(2**62) == str(2**62)


def test_bytes_are_shown_as_text_where_they_are() -> None:
    assert text_of(b"caf\xc3\xa9") == "café"
    assert text_of(b"\xff\x00") == "0xff00"
    assert text_of(b"\x1b[2J") == "\\x1b[2J"
    assert text_of(b"") == ""
    assert text_of(b"\0") == "\\x00"
    assert text_of(b" ~\x7f") == " ~\\x7f"
    assert text_of(b"\n") == "\n", "nothing but space is left alone"
    assert text_of(None) is None

"""How bytes are shown: whatever they are, as bounded text that says what it is."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from millstream_console.body import shown


def test_each_kind_says_what_it_is() -> None:
    assert shown(None, 10) == {"kind": "null", "size": 0}
    assert shown(b"", 10) == {"kind": "text", "size": 0, "text": "", "cut": False}
    assert shown(b'{"a": [1]}', 100) == {"kind": "json", "size": 10, "text": '{"a": [1]}', "cut": False}
    assert shown(b"<script>", 100) == {"kind": "text", "size": 8, "text": "<script>", "cut": False}
    assert shown(b"12", 100)["kind"] == "text"  # a number is JSON too, and reads the same
    assert shown(b"\xff\xfe", 100) == {"kind": "binary", "size": 2, "text": "fffe", "cut": False}
    assert shown(b"\0\0\0\7", 100) == {"kind": "binary", "size": 4, "text": "00000007", "cut": False, "number": "7"}
    assert shown(b"\xff" * 8, 100)["number"] == "-1"


def test_what_is_long_is_cut_and_says_so() -> None:
    assert shown("ää".encode(), 1) == {"kind": "text", "size": 4, "text": "ä", "cut": True}
    assert shown(b"\xff" * 10, 8) == {"kind": "binary", "size": 10, "text": "ff" * 4, "cut": True}
    assert shown(b'{"a": 1}', 3) == {"kind": "json", "size": 8, "text": '{"a', "cut": True}


def test_json_that_no_parser_takes_is_text() -> None:
    assert shown(b"[" * 100_000, 10)["kind"] == "text"
    assert shown(b'{"a": ' + b"9" * 5_000 + b"}", 10)["kind"] == "text"
    assert shown(b"{not json}", 100)["kind"] == "text"


@given(st.binary(max_size=300), st.integers(2, 100))
@example(b"\x1b[31m", 10)
@example("\ud7ff\U0010ffff".encode(), 2)
def test_any_bytes_are_bounded_text_that_json_carries(data: bytes, limit: int) -> None:
    found = shown(data, limit)
    assert json.loads(json.dumps(found)) == found
    assert len(found["text"]) <= limit
    assert found["size"] == len(data)
    if not found["cut"] and found["kind"] == "binary":
        assert bytes.fromhex(found["text"]) == data
    elif not found["cut"]:
        assert found["text"].encode() == data

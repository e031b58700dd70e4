"""Keys and values in the bytes of Java's serializers, with those of other clients as oracles."""

import json
from base64 import b64encode
from typing import Any

import pytest
from confluent_kafka.serialization import DoubleSerializer, IntegerSerializer, StringSerializer
from hypothesis import given
from hypothesis import strategies as st

from millstream_client.errors import InvalidData
from millstream_client.formats import FORMATS, format_named

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(),
    "bytes": st.binary(),
    "hex": st.binary().map(bytes.hex),
    "base64": st.binary().map(lambda data: b64encode(data).decode()),
    "null": st.none(),
    "json": st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
}


@given(st.data())
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[name])
    assert FORMATS[name].from_bytes(FORMATS[name].to_bytes(value)) == value


@pytest.mark.parametrize("name", FORMATS)
def test_none_is_null_in_every_format(name: str) -> None:
    assert FORMATS[name].to_bytes(None) is None
    assert FORMATS[name].from_bytes(None) is None


@given(VALUES["int"])
def test_int_is_confluents(value: int) -> None:
    assert FORMATS["int"].to_bytes(value) == IntegerSerializer()(value)


@given(VALUES["double"])
def test_double_is_confluents(value: float) -> None:
    assert FORMATS["double"].to_bytes(value) == DoubleSerializer()(value)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_string_is_confluents(value: str) -> None:
    assert FORMATS["string"].to_bytes(value) == StringSerializer("utf_8")(value)


def test_bytes_as_java_writes_them() -> None:
    assert FORMATS["int"].to_bytes(-2) == b"\xff\xff\xff\xfe"
    assert FORMATS["long"].to_bytes(258) == b"\x00\x00\x00\x00\x00\x00\x01\x02"
    assert FORMATS["float"].to_bytes(1.5) == b"\x3f\xc0\x00\x00"
    assert FORMATS["double"].to_bytes(1.5) == b"\x3f\xf8\x00\x00\x00\x00\x00\x00"
    assert FORMATS["string"].to_bytes("né") == b"n\xc3\xa9"
    assert FORMATS["json"].to_bytes({"a": [1, None]}) == b'{"a":[1,null]}'


@pytest.mark.parametrize(
    ("name", "value"),
    [("int", 2**31), ("int", "1"), ("long", 2**63), ("string", 7), ("bytes", "text"), ("null", 1), ("json", {1, 2})],
)
def test_what_a_format_cannot_write_is_said_in_a_line(name: str, value: Any) -> None:
    with pytest.raises(InvalidData, match=f"is no {name}"):
        FORMATS[name].to_bytes(value)


@pytest.mark.parametrize(
    ("name", "data"), [("int", b"123"), ("double", b"1"), ("string", b"\xff"), ("null", b""), ("json", b"{")]
)
def test_what_a_format_cannot_read_is_said_in_a_line(name: str, data: bytes) -> None:
    with pytest.raises(InvalidData, match=f"are no {name}"):
        FORMATS[name].from_bytes(data)


def test_what_people_type() -> None:
    typed = {name: format_named(name).parse("12") for name in ("int", "double", "string", "bytes", "json", "null")}
    assert typed == {"int": 12, "double": 12.0, "string": "12", "bytes": b"12", "json": 12, "null": None}
    with pytest.raises(InvalidData, match="'twelve' is no int"):
        format_named("int").parse("twelve")
    with pytest.raises(InvalidData, match="there are int, long"):
        format_named("integer")


def test_json_keeps_other_letters_readable() -> None:
    assert FORMATS["json"].to_bytes("é") == json.dumps("é", ensure_ascii=False).encode()

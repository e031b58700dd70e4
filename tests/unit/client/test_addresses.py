"""Addresses as people write them."""

import pytest

from millstream_client.addresses import parse_bootstrap
from millstream_client.errors import InvalidData


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:19092", [("localhost", 19092)]),
        ("broker", [("broker", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_addresses(text: str, expected: list[tuple[str, int]]) -> None:
    assert parse_bootstrap(text) == expected


@pytest.mark.parametrize("text", ["", ",", ":9092", "a:b", "a:0", "a:65536", "a:1:2", "[::1", "[::1]9092"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidData, match="no address"):
        parse_bootstrap(text)

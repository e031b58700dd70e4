"""`KEY=VALUE` as people give it."""

from collections.abc import Sequence

from millstream_client.errors import InvalidData


def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InvalidData(f"KEY=VALUE expected, not {text!r}")
        pairs[key.strip()] = value
    return pairs

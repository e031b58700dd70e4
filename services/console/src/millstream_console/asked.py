"""What a page asks for, checked: parameters of its address, and the JSON that it sends."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from millstream_client import InvalidData


def whole(query: Mapping[str, str], name: str, default: int) -> int:
    """A number that is not negative."""
    text = query.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidData(f"{name} must be a number, not {text[:50]!r}")
    return int(text)


def required(query: Mapping[str, str], name: str) -> str:
    text = query.get(name, "")
    if not text:
        raise InvalidData(f"{name} is missing")
    return text


def name_in(asked: Mapping[str, Any], name: str) -> str:
    """A text that is there, of the JSON."""
    text = asked.get(name)
    if not isinstance(text, str) or not text:
        raise InvalidData(f"{name} is missing")
    return text


async def body_of(request: web.Request) -> dict[str, Any]:
    """The JSON object that a page sent."""
    try:
        document = await request.json()
    except (ValueError, RecursionError):
        raise InvalidData("JSON expected") from None
    if not isinstance(document, dict):
        raise InvalidData("a JSON object expected")
    return document

"""How keys, values and headers are shown to a person: as JSON or text where they are that, as hexadecimal digits otherwise, and cut.

Pure. Whatever bytes there are, the answer is a value that JSON can carry and whose size is bounded.
"""

import json
from typing import Any

JSON_MAX_BYTES = 1024 * 1024
"""Beyond this nobody looks whether something is JSON."""
_NUMBER_BYTES = (4, 8)
_VISIBLE_SPACE = "\t\n\r"


def shown(data: bytes | None, limit: int) -> dict[str, Any]:
    """`limit`: how many characters there are at most."""
    if data is None:
        return {"kind": "null", "size": 0}
    text = _text(data)
    if text is None:
        number = int.from_bytes(data, "big", signed=True) if len(data) in _NUMBER_BYTES else None
        digits = data[: limit // 2].hex()
        # As text: a browser's numbers are too short for it.
        more = {} if number is None else {"number": str(number)}
        return {"kind": "binary", "size": len(data), "text": digits, "cut": 2 * len(data) > len(digits), **more}
    kind = "json" if _is_json(text) else "text"
    return {"kind": kind, "size": len(data), "text": text[:limit], "cut": len(text) > limit}


def _text(data: bytes) -> str | None:
    """None for what a person could not read."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if any(character < " " and character not in _VISIBLE_SPACE for character in set(text)) else text


def _is_json(text: str) -> bool:
    """Of objects and arrays only: any number is JSON too, and shown the same as text."""
    if len(text) > JSON_MAX_BYTES or text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

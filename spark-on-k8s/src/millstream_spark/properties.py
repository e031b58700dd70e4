"""Properties as Java reads them: what Kafka's tools take by --command-config, and what a User's Secret has of it. No I/O."""

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_PAIR = re.compile(r"((?:[^\\\s=:]|\\.)+)\s*[=:]?\s*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    found = {}
    for line in _logical_lines(text):
        if (pair := _PAIR.fullmatch(line)) is not None:
            found[_plain(pair[1])] = _plain(pair[2])
    return found


def _logical_lines(text: str) -> list[str]:
    """Join what ends in a backslash with the next line, and leave out comments."""
    lines: list[str] = []
    goes_on = False
    for line in text.splitlines():
        stripped = line.lstrip()
        if not goes_on and (not stripped or stripped[0] in "#!"):
            continue
        if goes_on:
            lines[-1] += stripped
        else:
            lines.append(stripped)
        backslashes = len(lines[-1]) - len(lines[-1].rstrip("\\"))
        goes_on = backslashes % 2 == 1
        if goes_on:
            lines[-1] = lines[-1][:-1]
    return lines


def _plain(text: str) -> str:
    unicode = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), unicode)

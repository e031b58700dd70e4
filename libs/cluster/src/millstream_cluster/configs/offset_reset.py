"""Where a share group begins in a partition that it has no state of: `share.auto.offset.reset` as text and as a timestamp.

The timestamps are those of ListOffsets: -2 is the earliest offset, -1 the latest.
"""

import re

LATEST = -1
EARLIEST = -2
_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?S)?)?",
    re.IGNORECASE,
)


def offset_reset_timestamp(text: str, now_ms: int) -> int | None:
    """The timestamp to look up, or None if the text is not one of the strategies."""
    if text == "latest":
        return LATEST
    if text == "earliest":
        return EARLIEST
    if not text.startswith(_BY_DURATION):
        return None
    duration_ms = _duration_ms(text.removeprefix(_BY_DURATION))
    return None if duration_ms is None else max(0, now_ms - duration_ms)


def _duration_ms(text: str) -> int | None:
    """ISO 8601 with days and smaller units, none negative."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        return None
    parts = {name: int(value) for name, value in found.groupdict("0").items() if name != "fraction"}
    minutes = (parts["days"] * 24 + parts["hours"]) * 60 + parts["minutes"]
    fraction = int((found["fraction"] or "").ljust(3, "0")[:3])
    return (minutes * 60 + parts["seconds"]) * 1_000 + fraction

"""Places in a topic as people say them: earliest, latest, an offset, so many records from somewhere, a time, so long ago."""

from collections.abc import Mapping
from datetime import datetime

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.errors import InvalidData
from millstream_client.offsets import EARLIEST, LATEST, NO_OFFSET, find_offsets
from millstream_cluster.offset_resets import Move, ShiftBy, ToEarliest, ToLatest, ToOffset, ToTime, duration_ms
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """One of these."""

    time: int | None = None
    """In ms, or EARLIEST or LATEST."""
    offset: int | None = None
    by: int | None = None
    """From where a group is; for who is nowhere, from the end backwards and from the beginning forwards."""

    @property
    def move(self) -> Move:
        """Of a group that is reset to here."""
        if self.time is None:
            return ShiftBy(self.by or 0) if self.offset is None else ToOffset(self.offset)
        if self.time == EARLIEST:
            return ToEarliest()
        return ToLatest() if self.time == LATEST else ToTime(self.time)


def parse_start(text: str, option: str, now_ms: int) -> Start:
    if text[:1] in ("+", "-") and text[1:].isascii() and text[1:].isdecimal():
        return Start(by=int(text))
    if text.isascii() and text.isdecimal():
        return Start(offset=int(text))
    ago_ms = duration_ms(text)
    if ago_ms is not None:
        return Start(now_ms - ago_ms)
    match text:
        case "earliest":
            return Start(EARLIEST)
        case "latest":
            return Start(LATEST)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(
            f"{option}: earliest, latest, an offset, +N or -N records, a time, or so long ago as 15m expected, not {text!r}"
        ) from None
    return Start(int(moment.timestamp() * 1000))


def parse_duration_ms(text: str, option: str) -> int:
    found = duration_ms(text)
    if found is None:
        raise InvalidData(f"{option}: so long as 90s, 15m, 6h or 7d expected, not {text!r}")
    return found


async def offsets_at(cluster: Cluster, start: Start, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Where that is in each partition, or the nearest that there is. `ends`: theirs."""
    firsts = await find_offsets(cluster, dict.fromkeys(ends, EARLIEST))
    if start.time is not None and start.time not in (EARLIEST, LATEST):
        found = await find_offsets(cluster, dict.fromkeys(ends, start.time))
        return {each: min(offset, ends[each]) if offset != NO_OFFSET else ends[each] for each, offset in found.items()}
    if start.time is not None:
        return firsts if start.time == EARLIEST else dict(ends)
    if start.offset is not None:
        wanted = dict.fromkeys(ends, start.offset)
    else:
        by = start.by or 0
        wanted = {each: (ends[each] if by < 0 else firsts[each]) + by for each in ends}
    return {each: min(max(offset, firsts[each]), ends[each]) for each, offset in wanted.items()}

"""Where in a topic somebody wants to begin: bounds of its partitions, by what the page asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_client import EARLIEST, LATEST, Cluster, InvalidData, TopicPartition
from millstream_client.offsets import NO_OFFSET, find_offsets

PARTITIONS_MAX = 200
"""Of how many partitions messages are put into one order; who wants others names them."""
_PATIENCE_MS = 5_000


@dataclass(frozen=True, slots=True)
class Place:
    """`newest`: backwards from the end; `oldest`, `offset`, `time`: forwards from there; with `go_on` from where a search stopped."""

    kind: str
    at: int = 0
    go_on: Mapping[int, int] | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "Place":
        kind = asked.get("from", "newest")
        if kind not in ("newest", "oldest", "offset", "time"):
            raise InvalidData(f"from must be newest, oldest, offset or time, not {kind!r}")
        at = asked.get("at") or 0
        if not isinstance(at, int) or not 0 <= at < 1 << 63:
            raise InvalidData(f"at must be an offset, or a time in milliseconds, not {at!r}")
        go_on = asked.get("go_on")
        return cls(kind, at, None if go_on is None else _positions(go_on))

    @property
    def forwards(self) -> bool:
        return self.kind != "newest"

    async def bounds(self, cluster: Cluster, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        wanted = [TopicPartition(topic, each) for each in partitions]
        firsts = await find_offsets(cluster, dict.fromkeys(wanted, EARLIEST), timeout_ms=_PATIENCE_MS)
        ends = await find_offsets(cluster, dict.fromkeys(wanted, LATEST), timeout_ms=_PATIENCE_MS)
        begins = firsts
        if self.kind == "offset":
            begins = dict.fromkeys(wanted, self.at)
        elif self.kind == "time" and self.go_on is None:
            begins = await find_offsets(cluster, dict.fromkeys(wanted, self.at), timeout_ms=_PATIENCE_MS)
        found = {}
        for each in wanted:
            end = ends[each]
            first = end if begins[each] == NO_OFFSET else min(max(firsts[each], begins[each]), end)
            if self.go_on is not None:
                stopped = self.go_on.get(each.partition, end if self.forwards else first)
                first, end = (max(first, stopped), end) if self.forwards else (first, min(end, stopped))
            found[each.partition] = (first, max(first, end))
        return found


def _positions(go_on: Any) -> dict[int, int]:
    if not isinstance(go_on, dict) or not all(
        key.isdecimal() and isinstance(value, int) for key, value in go_on.items()
    ):
        raise InvalidData("go_on must be offsets by partition")
    return {int(key): value for key, value in go_on.items()}

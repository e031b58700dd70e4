"""What flows into a partition, kept with its mark: from which topics, and which offsets belong together. Decides alone."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from millstream_spark.errors import SinkRefused
from millstream_spark.topic import Span, Topic

SYNCS_MAX = 48
"""A committed offset's note has 4 KiB by default."""

Sync = tuple[int, int]
"""An offset of the source and one of the copy: what lies before the one lies before the other, and what does not, does not."""


@dataclass(frozen=True, slots=True)
class Flow:
    topic_id: str
    """Of the source: under its name another topic may be made."""
    origins: tuple[str, ...]
    """Ids of the topics that flow into the source."""
    syncs: tuple[Sync, ...] = ()
    """In order; the first is where the mirror began."""

    def to_text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> "Flow":
        words = json.loads(text)
        return Flow(words["topic_id"], tuple(words["origins"]), tuple((here, there) for here, there in words["syncs"]))

    def synced(self, offset: int, copied: int) -> "Flow":
        """Return the flow with one more sync; where there are too many, every other of the older half goes."""
        syncs = (*(each for each in self.syncs if each[0] < offset), (offset, copied))
        if len(syncs) > SYNCS_MAX:
            half = len(syncs) // 2
            syncs = (*syncs[:half:2], *syncs[half:])
        return replace(self, syncs=syncs)

    def translated(self, offset: int) -> int:
        """Return where a reader of the copy goes on that has read the source up to an offset: it misses nothing, and
        may get again what lies between two syncs."""
        at = bisect_right(self.syncs, offset, key=lambda each: each[0])
        return self.syncs[max(at - 1, 0)][1]


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a task makes of a note when it moves the mark on."""

    origins: tuple[str, ...]

    def __call__(self, note: str, offset: int, copied: int) -> str:
        return replace(Flow.from_text(note), origins=self.origins).synced(offset, copied).to_text()


def check_flow(source: Topic, target: Topic, recorded: Iterable[Flow], origins: frozenset[str]) -> None:
    """Raise SinkRefused for a mirror that was begun with another topic, and for one that would go round.

    `origins`: ids of the topics that flow into the source by now, as other mirrors' notes say.
    """
    others = {each.topic_id for each in recorded} - {source.topic_id}
    if others:
        raise SinkRefused(
            f"under this name topic {', '.join(sorted(others))} is mirrored, and this one is {source.topic_id}: "
            "it was created again, or it is another; take another name and an empty topic"
        )
    if target.topic_id in origins | {source.topic_id}:
        raise SinkRefused(f"{target.name} flows into {source.name} already: its records would go round")


def next_ranges(at: Mapping[int, int], held: Mapping[int, Span], most: int) -> dict[int, Span]:
    """Return the next round's range of each partition that has one: `most` offsets in all, divided evenly."""
    share = max(1, most // max(1, len(held)))
    found = {}
    for partition, span in held.items():
        start = at[partition]
        if start < span.end:
            found[partition] = Span(start, min(span.end, start + share))
    return found

"""What of a partition is copied, decided once and kept with its mark. Decides alone; does no I/O."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from millstream_spark.errors import SinkRefused


@dataclass(frozen=True, slots=True)
class Range:
    """Half-open, of one partition of the source; the mark's offset says how far it is copied."""

    topic_id: str
    """Of the source: under its name another topic may be made."""
    start: int
    end: int

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> "Range":
        return Range(**json.loads(text))


def check_goes_on(recorded: Mapping[int, Range], topic_id: str) -> None:
    """Raise SinkRefused unless a replay that was begun is of this topic."""
    others = {each.topic_id for each in recorded.values()} - {topic_id}
    if others:
        raise SinkRefused(
            f"under this name topic {', '.join(sorted(others))} is replayed, and this one is {topic_id}: "
            "it was created again, or it is another; take another name"
        )

"""What a backfill stores, decided once and kept beside what it writes. Decides alone; does no I/O."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from millstream_spark.errors import LineageBroken
from millstream_spark.topic import Span, Topic


@dataclass(frozen=True, slots=True)
class Plan:
    topic: str
    topic_id: str
    part_offsets: int
    ranges: Mapping[int, Span]

    def to_text(self) -> str:
        spans = {partition: [span.start, span.end] for partition, span in self.ranges.items()}
        words = {"topic": self.topic, "topic_id": self.topic_id, "part_offsets": self.part_offsets, "ranges": spans}
        return json.dumps(words, indent=2) + "\n"

    @staticmethod
    def from_text(text: str) -> "Plan":
        words = json.loads(text)
        spans = {int(partition): Span(*ends) for partition, ends in words.pop("ranges").items()}
        return Plan(**words, ranges=spans)

    def check_goes_on(self, topic: Topic) -> None:
        if self.topic_id != topic.topic_id:
            raise LineageBroken(
                f"the output is of topic {self.topic} with id {self.topic_id}, and {topic.name} is {topic.topic_id}: "
                "it was created again, or it is another; take another output"
            )

    def left(self, names: Collection[str]) -> dict[int, Span]:
        """Return what of each partition is still to be read, by the files that are there; parts are written in order."""
        found = {}
        for partition, span in self.ranges.items():
            start = span.start
            while start < span.end and part_name(self.topic, partition, self.part_of(start)) in names:
                start = min((self.part_of(start) + 1) * self.part_offsets, span.end)
            if start < span.end:
                found[partition] = Span(start, span.end)
        return found

    def part_of(self, offset: int) -> int:
        return offset // self.part_offsets


def part_name(topic: str, partition: int, part: int) -> str:
    """A file is whole under this name, or it is not there: whoever makes it again makes the same."""
    return f"{topic}-{partition:05d}-{part:010d}.parquet"

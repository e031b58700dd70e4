"""Who reads which partition: Kafka's range assignor, for the members of a group and for the streams of one process."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def range_shares(partitions: int, readers: int) -> list[range]:
    """Cut `[0, partitions)` into consecutive shares; the first ones take what does not divide."""
    size, extra = divmod(partitions, readers)
    starts = [size * n + min(n, extra) for n in range(readers + 1)]
    return [range(starts[n], starts[n + 1]) for n in range(readers)]


class Subscriber(NamedTuple):
    """A member of a group and what it wants to read; static members have an instance id that outlives them."""

    member_id: str
    topics: Sequence[str]
    instance_id: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """Static members first, by their lasting names, so that they keep their partitions over restarts."""
        return self.instance_id is None, self.instance_id or self.member_id


def assign_ranges(
    subscribers: Iterable[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member id, what it reads: for each topic a range; the same for whoever computes it."""
    ranked = sorted(subscribers, key=lambda each: each.rank)
    assigned: dict[str, list[TopicPartition]] = {each.member_id: [] for each in ranked}
    for topic, count in sorted(partition_counts.items()):
        readers = [each.member_id for each in ranked if topic in each.topics]
        if readers:
            for member, share in zip(readers, range_shares(count, len(readers)), strict=True):
                assigned[member] += [TopicPartition(topic, partition) for partition in share]
    return assigned

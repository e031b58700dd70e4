"""Who reads which partition: Kafka's range assignor, for the members of a group and for the streams of one process."""

from collections.abc import Mapping, Sequence
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


def assign_ranges(
    subscriptions: Mapping[str, Sequence[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member, what it reads; members are ordered by their key, which is the same for whoever computes this."""
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    for topic, count in sorted(partition_counts.items()):
        readers = sorted(member for member, topics in subscriptions.items() if topic in topics)
        if not readers:
            continue
        for member, share in zip(readers, range_shares(count, len(readers)), strict=True):
            assigned[member] += [TopicPartition(topic, partition) for partition in share]
    return assigned

"""Partitions as groups name them."""

from collections.abc import Iterable
from uuid import UUID

TopicPartition = tuple[str, int]
"""By the topic's name: what offsets are committed to, and what a transaction writes to."""
TopicIdPartition = tuple[UUID, int]
"""By the topic's id: what members are given."""
Partitions = frozenset[TopicIdPartition]

NO_PARTITIONS: Partitions = frozenset()


def by_topic(partitions: Iterable[TopicIdPartition]) -> list[tuple[UUID, list[int]]]:
    """Topics with the numbers of their partitions, both in order."""
    topics: dict[UUID, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    return list(topics.items())

"""Who reads which partitions of a share group: each partition has a reader, each member something to read, both as evenly
as the subscriptions allow. Where there are more members than partitions, several share one. A pure function.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from millstream_coordinator.core.consumer.assignors import Assignment, Subscriber, assign_uniform
from millstream_coordinator.core.consumer.member import TopicIdPartition

NAME = "simple"


def assign_shared(members: Mapping[str, Subscriber], partitions: frozenset[TopicIdPartition]) -> Assignment:
    """What members were given so far stays where it does not have to move."""
    assigned = _one_reader_each(members, partitions)
    readers: Counter[TopicIdPartition] = Counter(each for given in assigned.values() for each in given)
    for member_id in sorted(members):
        subscriber = members[member_id]
        wanted = [partition for partition in partitions if partition[0] in subscriber.topics]
        if wanted and not assigned[member_id]:
            target = subscriber.target
            least = min(wanted, key=lambda each: (readers[each], each not in target, each))
            assigned[member_id] = frozenset({least})
            readers[least] += 1
    return assigned


def _one_reader_each(members: Mapping[str, Subscriber], partitions: frozenset[TopicIdPartition]) -> Assignment:
    """As a consumer group would have it. That counts each topic's partitions from 0 on, and some may not be readable yet."""
    counts: Counter[UUID] = Counter()
    numbered: dict[TopicIdPartition, TopicIdPartition] = {}
    for partition in sorted(partitions):
        topic_id = partition[0]
        numbered[partition] = topic_id, counts[topic_id]
        counts[topic_id] += 1
    so_far = {
        member_id: replace(member, target=frozenset(numbered[each] for each in member.target & partitions))
        for member_id, member in members.items()
    }
    named = {number: partition for partition, number in numbered.items()}
    assigned = assign_uniform(so_far, counts)
    return {member_id: frozenset(named[each] for each in given) for member_id, given in assigned.items()}

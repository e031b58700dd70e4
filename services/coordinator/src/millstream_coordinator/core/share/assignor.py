"""Who reads which partitions of a share group: each partition has a reader, each member something to read, both as evenly
as the subscriptions allow. Where there are more members than partitions, several share one. A pure function.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from millstream_coordinator.core.group.assignors import Assignment, Subscriber, assign_uniform
from millstream_coordinator.core.group.partitions import TopicIdPartition

NAME = "simple"
ROUNDS_MAX = 10


def assign_shared(members: Mapping[str, Subscriber], partitions: frozenset[TopicIdPartition]) -> Assignment:
    """What members were given so far stays where it does not have to move; given its own answer it gives that again."""
    assigned = _assign(members, partitions)
    for _ in range(ROUNDS_MAX):
        before, assigned = assigned, _assign(_as_given(members, assigned), partitions)
        if assigned == before:
            break
    return assigned


def _as_given(members: Mapping[str, Subscriber], assigned: Assignment) -> Mapping[str, Subscriber]:
    return {member_id: replace(member, target=assigned[member_id]) for member_id, member in members.items()}


def _assign(members: Mapping[str, Subscriber], partitions: frozenset[TopicIdPartition]) -> Assignment:
    assigned = _one_reader_each(members, partitions)
    by_topics = {
        topics: sorted(each for each in partitions if each[0] in topics)
        for topics in {member.topics for member in members.values()}
    }
    wanted = {member_id: by_topics[member.topics] for member_id, member in members.items()}
    sharers = [member_id for member_id in sorted(members) if wanted[member_id] and not assigned[member_id]]
    if not sharers:
        return assigned
    readers: Counter[TopicIdPartition] = Counter(each for given in assigned.values() for each in given)
    # Who read something before goes on with it, then others come where the fewest are, then the most crowded give way.
    for member_id in sorted(sharers, key=lambda each: not members[each].target):
        known = [each for each in wanted[member_id] if each in members[member_id].target]
        chosen = min(known or wanted[member_id], key=readers.__getitem__)
        assigned[member_id] = frozenset({chosen})
        readers[chosen] += 1
    alone = [member_id for member_id in sorted(members) if len(assigned[member_id]) == 1]
    moved = True
    while moved:  # each move makes the partitions' readers more even
        moved = False
        for member_id in alone:
            (current,) = assigned[member_id]
            least = min(wanted[member_id], key=readers.__getitem__)
            if readers[current] > readers[least] + 1:
                assigned[member_id] = frozenset({least})
                readers[current] -= 1
                readers[least] += 1
                moved = True
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

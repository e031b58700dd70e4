"""Server-side assignors: who should have which partitions. Pure functions of the members, their topics and the target so far.

- range: of each topic, a run of neighbouring partitions for each of its subscribers, so that topics with as many partitions
  are split alike and can be joined.
- uniform: as even as the subscriptions allow, and of all that, what moves the fewest partitions.
"""

import heapq
from collections.abc import Callable, Mapping
from uuid import UUID

from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions, TopicIdPartition
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Subscriber:
    topics: frozenset[UUID]
    instance_id: str | None = None
    target: Partitions = NO_PARTITIONS
    """What it should have so far."""


Assignment = dict[str, Partitions]
Assignor = Callable[[Mapping[str, Subscriber], Mapping[UUID, int]], Assignment]


def assign_range(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> Assignment:
    """`topics` says how many partitions each has. Members are in order of their instance ids, then member ids."""
    order = sorted(members, key=lambda member_id: (members[member_id].instance_id is None, _name(members, member_id)))
    assigned: dict[str, set[TopicIdPartition]] = {member_id: set() for member_id in members}
    for topic_id, partitions in topics.items():
        subscribers = [member_id for member_id in order if topic_id in members[member_id].topics]
        if not subscribers:
            continue
        each, more = divmod(partitions, len(subscribers))
        start = 0
        for index, member_id in enumerate(subscribers):
            end = start + each + (index < more)
            assigned[member_id].update((topic_id, partition) for partition in range(start, end))
            start = end
    return {member_id: frozenset(partitions) for member_id, partitions in assigned.items()}


def assign_uniform(members: Mapping[str, Subscriber], topics: Mapping[UUID, int]) -> Assignment:
    everything = {topic_id: count for topic_id, count in topics.items() if _is_wanted(members, topic_id)}
    partitions = [(topic_id, number) for topic_id in sorted(everything) for number in range(everything[topic_id])]
    if len({subscriber.topics.intersection(everything) for subscriber in members.values()}) == 1:
        return _assign_equals(members, partitions)
    return _assign_unequals(members, partitions)


ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
DEFAULT_ASSIGNOR = "uniform"


def _name(members: Mapping[str, Subscriber], member_id: str) -> tuple[str, str]:
    return members[member_id].instance_id or "", member_id


def _is_wanted(members: Mapping[str, Subscriber], topic_id: UUID) -> bool:
    return any(topic_id in subscriber.topics for subscriber in members.values())


def _assign_equals(members: Mapping[str, Subscriber], partitions: list[TopicIdPartition]) -> Assignment:
    """All subscribe to the same: everyone keeps what it has up to its share, the rest goes to who has less."""
    each, more = divmod(len(partitions), len(members))
    left = set(partitions)
    kept: dict[str, list[TopicIdPartition]] = {}
    # Those who have the most may keep the one above the even share.
    for member_id in sorted(members, key=lambda member_id: (-len(members[member_id].target), member_id)):
        had = sorted(members[member_id].target & left)
        share = each + (more > 0 and len(had) > each)
        more -= share > each
        kept[member_id] = had[:share]
        left.difference_update(kept[member_id])
    free = sorted(left, reverse=True)
    for member_id in sorted(kept):
        has = kept[member_id]
        while len(has) < each:
            has.append(free.pop())
    for member_id in sorted(kept):
        if free and len(kept[member_id]) == each:
            kept[member_id].append(free.pop())
    assert not free
    return {member_id: frozenset(has) for member_id, has in kept.items()}


def _assign_unequals(members: Mapping[str, Subscriber], partitions: list[TopicIdPartition]) -> Assignment:
    """Keep what may be kept, hand out the rest from the pickiest partitions on, then level out one move at a time."""
    subscribers: dict[UUID, list[str]] = {}
    for topic_id in {topic_id for topic_id, _ in partitions}:
        subscribers[topic_id] = sorted(m for m in members if topic_id in members[m].topics)
    left = set(partitions)
    assigned: dict[str, set[TopicIdPartition]] = {}
    for member_id in sorted(members):
        assigned[member_id] = {p for p in members[member_id].target & left if p[0] in members[member_id].topics}
        left -= assigned[member_id]
    for partition in sorted(left, key=lambda p: (len(subscribers[p[0]]), p)):
        least = min(subscribers[partition[0]], key=lambda m: (len(assigned[m]), m))
        assigned[least].add(partition)
    _level(assigned, members)
    return {member_id: frozenset(has) for member_id, has in assigned.items()}


def _level(assigned: dict[str, set[TopicIdPartition]], members: Mapping[str, Subscriber]) -> None:
    """Move partitions from who has more to who has less by two at least. Each move makes the sum of squares smaller,
    so it ends. Who could be given nothing may be able to once others have other things: until a pass moves nothing.
    """
    while _level_once(assigned, members):
        pass


def _level_once(assigned: dict[str, set[TopicIdPartition]], members: Mapping[str, Subscriber]) -> bool:
    queue = [(len(has), member_id) for member_id, has in assigned.items()]
    heapq.heapify(queue)
    has_moved = False
    while queue:
        count, poorest = heapq.heappop(queue)
        if count != len(assigned[poorest]):
            continue  # it was given to or taken from since
        richer = sorted((m for m in assigned if len(assigned[m]) >= count + 2), key=lambda m: (-len(assigned[m]), m))
        for rich in richer:
            movable = [partition for partition in assigned[rich] if partition[0] in members[poorest].topics]
            if movable:
                moved = min(movable)
                assigned[rich].remove(moved)
                assigned[poorest].add(moved)
                for changed in (rich, poorest):
                    heapq.heappush(queue, (len(assigned[changed]), changed))
                has_moved = True
                break
    return has_moved

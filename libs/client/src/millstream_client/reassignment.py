"""Replicas moved to other brokers: a plan that leaves alone what may stay, carried out by the cluster, watched and cancelled from here."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.errors import InvalidData, check
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream_wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

Replicas = Mapping[TopicPartition, Sequence[int]]
"""By partition its brokers; the first one is to lead."""


@dataclass(frozen=True, slots=True)
class Move:
    """One that is under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def spread(now: Replicas, brokers: Sequence[int], factor: int | None = None) -> dict[TopicPartition, list[int]]:
    """Replicas on these brokers only, as evenly as that goes with few moves; `factor`: how many, as many as there are if None.

    Whoever is on one of the brokers stays, up to an even share. Raises InvalidData where there are too few brokers.
    """
    allowed = sorted(set(brokers))
    wanted = {each: factor if factor is not None else len(replicas) for each, replicas in now.items()}
    most = max(wanted.values(), default=0)
    if not 1 <= most <= len(allowed):
        raise InvalidData(f"{most} replicas need as many brokers, and there are {len(allowed)}: {allowed}")
    share = -(-sum(wanted.values()) // len(allowed))
    load = Counter(dict.fromkeys(allowed, 0))
    planned: dict[TopicPartition, list[int]] = {}
    for each in sorted(now):
        kept: list[int] = []
        for broker in now[each]:
            if broker in load and load[broker] < share and len(kept) < wanted[each]:
                kept.append(broker)
                load[broker] += 1
        planned[each] = kept
    for each, replicas in planned.items():
        while len(replicas) < wanted[each]:
            fresh = min((broker for broker in allowed if broker not in replicas), key=lambda one: (load[one], one))
            replicas.append(fresh)
            load[fresh] += 1
    leads: Counter[int] = Counter()
    for replicas in planned.values():
        first = min(replicas, key=lambda one: (leads[one], replicas.index(one)))
        replicas.remove(first)
        replicas.insert(0, first)
        leads[first] += 1
    return planned


def drained(
    now: Replicas, leaving: int, brokers: Sequence[int], racks: Mapping[int, str | None]
) -> dict[TopicPartition, list[int]]:
    """Each replica of `leaving` on one of the other brokers, in the same place: in a rack of its own if there is one, on the least loaded.

    Raises InvalidData where there are too few brokers.
    """
    load = Counter(broker for replicas in now.values() for broker in replicas)
    planned = {}
    for each in sorted(now):
        if leaving not in now[each]:
            continue
        staying = [broker for broker in now[each] if broker != leaving]
        free = [broker for broker in brokers if broker != leaving and broker not in staying]
        if not free:
            raise InvalidData(
                f"{each} has {len(now[each])} replicas, and no other broker may take that of broker {leaving}"
            )
        taken = {racks.get(broker) for broker in staying}
        fresh = min(free, key=lambda one: (racks.get(one) in taken, load[one], one))
        planned[each] = [fresh if broker == leaving else broker for broker in now[each]]
        load[fresh] += 1
    return planned


async def replicas_of(cluster: Cluster, topics: Sequence[str]) -> dict[TopicPartition, tuple[int, ...]]:
    return {
        TopicPartition(name, each.index): each.replicas
        for name in topics
        for each in (await cluster.topic(name)).partitions
    }


async def begin_moves(cluster: Cluster, target: Replicas) -> None:
    await _alter(cluster, {each: list(replicas) for each, replicas in target.items()})


async def cancel_moves(cluster: Cluster, partitions: Sequence[TopicPartition]) -> None:
    await _alter(cluster, dict.fromkeys(partitions, None))


async def moves_under_way(cluster: Cluster) -> list[Move]:
    answer = await cluster.ask_any(ListPartitionReassignmentsRequest(topics=None))
    check(answer.error_code, answer.error_message, subject="moves")
    return [
        Move(
            topic.name,
            each.partition_index,
            tuple(each.replicas),
            tuple(each.adding_replicas),
            tuple(each.removing_replicas),
        )
        for topic in sorted(answer.topics, key=lambda topic: topic.name)
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]


async def _alter(cluster: Cluster, target: Mapping[TopicPartition, list[int] | None]) -> None:
    by_topic: defaultdict[str, list[ReassignablePartition]] = defaultdict(list)
    for (name, index), replicas in target.items():
        by_topic[name].append(ReassignablePartition(partition_index=index, replicas=replicas))
    topics = [ReassignableTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    answer = await cluster.ask_any(AlterPartitionReassignmentsRequest(topics=topics))
    check(answer.error_code, answer.error_message, subject="moves")
    for name in by_topic:
        cluster.forget(name)
    for topic in answer.responses:
        for each in topic.partitions:
            check(each.error_code, each.error_message, subject=f"{topic.name}-{each.partition_index}")

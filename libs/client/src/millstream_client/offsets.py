"""Where partitions begin and end, and what they held at a time (ListOffsets)."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Backoff, Cluster
from millstream_client.errors import Refused, Unreachable, code_of
from millstream_client.metadata import NO_LEADER
from millstream_cluster.offset_resets import LogRange
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

EARLIEST = -2
LATEST = -1
NO_OFFSET = -1
TIMEOUT_MS = 60_000


async def find_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    isolation_level: int = 0,
    timeout_ms: int = TIMEOUT_MS,
) -> dict[TopicPartition, int]:
    """By partition, the first offset at or after a time, or EARLIEST or LATEST; NO_OFFSET where nothing is that young.

    Leaders that move or are not there yet are waited for.
    """
    found: dict[TopicPartition, int] = {}
    deadline_ms = cluster.world.monotonic_ms() + timeout_ms
    backoff = Backoff()
    while True:
        missing = {each: time for each, time in timestamps.items() if each not in found}
        if not missing:
            return found
        try:
            found |= await _ask_leaders(cluster, missing, isolation_level)
            failure: Exception = Refused(ErrorCode.LEADER_NOT_AVAILABLE, subject=str(next(iter(missing))))
        except Unreachable as error:
            failure = error
        for partition in missing:
            if partition not in found:
                cluster.forget(partition.topic)
        if len(found) < len(timestamps):
            if cluster.world.monotonic_ms() > deadline_ms:
                raise failure
            await backoff.wait()


async def _ask_leaders(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int
) -> dict[TopicPartition, int]:
    """One round; partitions whose leader could not say are left out."""
    by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for partition in timestamps:
        topic = await cluster.topic(partition.topic)
        if partition.partition >= len(topic.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, subject=str(partition))
        leader_id = topic.partitions[partition.partition].leader_id
        if leader_id != NO_LEADER:
            by_leader[leader_id].append(partition)
    answers = await asyncio.gather(
        *(
            _ask_leader(cluster, leader_id, {each: timestamps[each] for each in partitions}, isolation_level)
            for leader_id, partitions in by_leader.items()
        )
    )
    return {partition: offset for answer in answers for partition, offset in answer.items()}


async def _ask_leader(
    cluster: Cluster, leader_id: int, timestamps: Mapping[TopicPartition, int], isolation_level: int
) -> dict[TopicPartition, int]:
    by_topic: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for (topic, partition), timestamp in timestamps.items():
        by_topic[topic].append(ListOffsetsPartition(partition_index=partition, timestamp=timestamp))
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()],
        timeout_ms=TIMEOUT_MS,
    )
    answer = await cluster.ask(leader_id, request)
    found = {}
    for topic in answer.topics:
        for each in topic.partitions:
            code = code_of(each.error_code)
            if code is ErrorCode.NONE:
                found[TopicPartition(topic.name, each.partition_index)] = each.offset
            elif not code.retriable:
                raise Refused(code, subject=f"{topic.name}-{each.partition_index}")
    return found


async def ranges_of(cluster: Cluster, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LogRange]:
    starts = await find_offsets(cluster, dict.fromkeys(partitions, EARLIEST))
    ends = await find_offsets(cluster, dict.fromkeys(partitions, LATEST))
    return {each: LogRange(starts[each], ends[each]) for each in partitions}


async def partitions_of(cluster: Cluster, topics: Sequence[str]) -> list[TopicPartition]:
    """All partitions of some topics."""
    return [
        TopicPartition(name, partition.index) for name in topics for partition in (await cluster.topic(name)).partitions
    ]

"""Groups over the admin protocol: their members, their offsets and the ends of the partitions they read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from millstream_operator.kafka.cluster import Address, KafkaCluster, check
from millstream_operator.plan.consumer_group import GroupSeen, LogRange, Partition
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.delete_groups import DeleteGroupsRequest
from millstream_wire.messages.describe_groups import DescribeGroupsRequest
from millstream_wire.messages.find_coordinator import FindCoordinatorRequest
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from millstream_wire.messages.metadata import MetadataResponse
from millstream_wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from millstream_wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

EARLIEST = -2
LATEST = -1
# The highest versions that name topics; later ones speak of topic ids only.
OFFSET_FETCH_VERSION = 9
OFFSET_COMMIT_VERSION = 9
FIND_COORDINATOR_VERSION = 4


async def coordinator_of(cluster: KafkaCluster, group_id: str) -> Address:
    answer = await cluster.request(
        FindCoordinatorRequest(coordinator_keys=[group_id]), version=FIND_COORDINATOR_VERSION
    )
    [found] = answer.coordinators
    check(found.error_code, found.error_message)
    return found.host, found.port


async def look_at(cluster: KafkaCluster, group_id: str, declared_topics: Sequence[str]) -> GroupSeen:
    coordinator = await coordinator_of(cluster, group_id)
    described = await cluster.request(DescribeGroupsRequest(groups=[group_id]), at=coordinator)
    [group] = described.groups
    if group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        check(group.error_code, group.error_message)
    committed = await _committed(cluster, group_id, coordinator)
    topics = sorted({topic for topic, _ in committed} | set(declared_topics))
    metadata = await cluster.metadata(topics) if topics else None
    missing = _missing(metadata, declared_topics) if metadata is not None else []
    return GroupSeen(
        state=group.group_state or "Dead",
        protocol=group.protocol_data,
        members=len(group.members),
        coordinator=f"{coordinator[0]}:{coordinator[1]}",
        committed=committed,
        ranges={} if metadata is None else await _ranges(cluster, metadata, committed, declared_topics),
        missing_topics=missing,
    )


async def _committed(cluster: KafkaCluster, group_id: str, coordinator: Address) -> dict[Partition, int]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)])
    answer = await cluster.request(request, at=coordinator, version=OFFSET_FETCH_VERSION)
    [group] = answer.groups
    if group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        check(group.error_code)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }


def _missing(metadata: MetadataResponse, declared: Sequence[str]) -> list[str]:
    unknown = {t.name for t in metadata.topics if t.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    return [topic for topic in declared if topic in unknown]


async def _ranges(
    cluster: KafkaCluster, metadata: MetadataResponse, committed: Mapping[Partition, int], declared: Sequence[str]
) -> dict[Partition, LogRange]:
    """Start and end of each partition that matters, asked of its leader; one without a leader is left out."""
    addresses = {node.node_id: (node.host, node.port) for node in metadata.brokers}
    by_leader: dict[Address, list[Partition]] = defaultdict(list)
    for topic in metadata.topics:
        for p in topic.partitions:
            partition = (topic.name or "", p.partition_index)
            if p.leader_id in addresses and (partition in committed or topic.name in declared):
                by_leader[addresses[p.leader_id]].append(partition)
    ranges: dict[Partition, LogRange] = {}
    for leader, partitions in by_leader.items():
        starts = await _offsets_at(cluster, leader, partitions, EARLIEST)
        ends = await _offsets_at(cluster, leader, partitions, LATEST)
        ranges |= {p: LogRange(starts[p], ends[p]) for p in partitions if p in starts and p in ends}
    return ranges


async def _offsets_at(
    cluster: KafkaCluster, leader: Address, partitions: Iterable[Partition], timestamp: int
) -> dict[Partition, int]:
    by_topic: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for topic, index in partitions:
        by_topic[topic].append(ListOffsetsPartition(partition_index=index, timestamp=timestamp))
    topics = [ListOffsetsTopic(name=name, partitions=asked) for name, asked in by_topic.items()]
    answer = await cluster.request(ListOffsetsRequest(replica_id=-1, topics=topics), at=leader)
    return {
        (topic.name, p.partition_index): p.offset
        for topic in answer.topics
        for p in topic.partitions
        if p.error_code == ErrorCode.NONE
    }


async def commit(cluster: KafkaCluster, group_id: str, offsets: Mapping[Partition, int]) -> None:
    """As an admin commits for a group that nobody is in."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for (topic, index), offset in sorted(offsets.items()):
        by_topic[topic].append(OffsetCommitRequestPartition(partition_index=index, committed_offset=offset))
    topics = [OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    request = OffsetCommitRequest(group_id=group_id, topics=topics)
    coordinator = await coordinator_of(cluster, group_id)
    answer = await cluster.request(request, at=coordinator, version=OFFSET_COMMIT_VERSION)
    for topic_answer in answer.topics:
        for partition in topic_answer.partitions:
            check(partition.error_code)


async def delete(cluster: KafkaCluster, group_id: str) -> None:
    """Only an empty group goes; one that is not there is gone already."""
    coordinator = await coordinator_of(cluster, group_id)
    answer = await cluster.request(DeleteGroupsRequest(groups_names=[group_id]), at=coordinator)
    [result] = answer.results
    if result.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        check(result.error_code)

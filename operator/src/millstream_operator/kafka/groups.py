"""All declared groups of a cluster at once: their members, offsets and configs, and the ends of the partitions they read.

A look takes a handful of requests for each node, however many groups there are. A node that does not answer takes only its own from it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream_cluster.offset_resets import LogRange, Partition
from millstream_operator.kafka.cluster import Address, ClusterUnreachable, KafkaCluster, Refused, check
from millstream_operator.plan.consumer_group import SHARE, GroupSeen
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from millstream_wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from millstream_wire.messages.describe_groups import DescribeGroupsRequest
from millstream_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from millstream_wire.messages.find_coordinator import FindCoordinatorRequest
from millstream_wire.messages.list_groups import ListGroupsRequest
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from millstream_wire.messages.metadata import MetadataResponse
from millstream_wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from millstream_wire.messages.share_group_describe import ShareGroupDescribeRequest

EARLIEST = -2
LATEST = -1
GROUP_RESOURCE = 32
GROUP_CONFIG = 8
CLASSIC, CONSUMER = "classic", "consumer"
# The highest versions that name topics; later ones speak of topic ids only.
OFFSET_FETCH_VERSION = 9
FIND_COORDINATOR_VERSION = 4

Trouble = ClusterUnreachable | Refused


@dataclass(frozen=True, slots=True)
class Glance:
    groups: Mapping[str, GroupSeen | Trouble]
    ends: Mapping[Partition, int]
    """Of every partition that one of the groups reads."""

    def of(self, group_id: str) -> GroupSeen:
        """Raises ClusterUnreachable and Refused."""
        found = self.groups[group_id]
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(slots=True)
class _Standing:
    """What its coordinator says of a group."""

    coordinator: Address
    state: str = "Dead"
    type: str = ""
    protocol: str = ""
    members: int = 0
    committed: dict[Partition, int] = field(default_factory=dict)
    left: dict[Partition, int] = field(default_factory=dict)
    statics: dict[str, str] = field(default_factory=dict)


async def coordinator_of(cluster: KafkaCluster, group_id: str) -> Address:
    [found] = (await _coordinators(cluster, [group_id])).values()
    if isinstance(found, Exception):
        raise found
    return found


async def look_at(cluster: KafkaCluster, group_id: str, declared_topics: Sequence[str]) -> GroupSeen:
    return (await glance_at(cluster, {group_id: declared_topics})).of(group_id)


async def glance_at(cluster: KafkaCluster, declared: Mapping[str, Sequence[str]]) -> Glance:
    """`declared`: by group, the topics that it is to read. Raises ClusterUnreachable, Refused where nothing is known of any."""
    standings = await _standings(cluster, list(declared))
    known = {group: each for group, each in standings.items() if isinstance(each, _Standing)}
    wanted = {partition[0] for each in known.values() for partition in each.committed}
    wanted |= {topic for group in known for topic in declared[group]}
    metadata = await cluster.metadata(sorted(wanted)) if wanted else MetadataResponse()
    counts = {topic.name or "": len(topic.partitions) for topic in metadata.topics}
    read = {
        group: {
            *(each for each in standing.committed if each[1] < counts.get(each[0], 0)),
            *((topic, index) for topic in declared[group] for index in range(counts.get(topic, 0))),
        }
        for group, standing in known.items()
    }
    ranges = await _ranges(cluster, metadata, set().union(*read.values()))
    configs = await _configs(cluster, list(known))
    unknown = {t.name for t in metadata.topics if t.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    groups: dict[str, GroupSeen | Trouble] = {
        group: each for group, each in standings.items() if not isinstance(each, _Standing)
    }
    for group, standing in known.items():
        missing = [topic for topic in declared[group] if topic in unknown]
        groups[group] = _seen(standing, read[group], ranges, missing, configs.get(group, {}))
    return Glance(groups, {each: log.end for each, log in ranges.items()})


def _seen(
    standing: _Standing,
    read: set[Partition],
    ranges: Mapping[Partition, LogRange],
    missing: Sequence[str],
    configs: Mapping[str, str],
) -> GroupSeen:
    return GroupSeen(
        state=standing.state,
        type=standing.type,
        protocol=standing.protocol,
        members=standing.members,
        coordinator=f"{standing.coordinator[0]}:{standing.coordinator[1]}",
        committed=standing.committed,
        ranges={each: ranges[each] for each in sorted(read) if each in ranges},
        missing_topics=missing,
        unanswered=sum(each not in ranges for each in read),
        left=standing.left,
        configs=configs,
        statics=standing.statics,
    )


# ---- what coordinators say ----


async def _standings(cluster: KafkaCluster, groups: Sequence[str]) -> dict[str, _Standing | Trouble]:
    found: dict[str, _Standing | Trouble] = {}
    by_coordinator: dict[Address, list[str]] = defaultdict(list)
    for group, at in (await _coordinators(cluster, groups)).items():
        if isinstance(at, Refused):
            found[group] = at
        else:
            by_coordinator[at].append(group)
    answers = await asyncio.gather(*(_standings_at(cluster, at, mine) for at, mine in by_coordinator.items()))
    for answer in answers:
        found |= answer
    return found


async def _coordinators(cluster: KafkaCluster, groups: Sequence[str]) -> dict[str, Address | Refused]:
    if not groups:
        return {}
    request = FindCoordinatorRequest(coordinator_keys=list(groups))
    answer = await cluster.request(request, version=FIND_COORDINATOR_VERSION)
    return {
        each.key: (each.host, each.port)
        if each.error_code == ErrorCode.NONE
        else Refused(each.error_code, each.error_message)
        for each in answer.coordinators
    }


async def _standings_at(cluster: KafkaCluster, at: Address, groups: Sequence[str]) -> Mapping[str, _Standing | Trouble]:
    """Of a coordinator's groups; if it does not answer, all of them have that trouble."""
    try:
        listed = await cluster.request(ListGroupsRequest(), at=at)
        check(listed.error_code)
        standings = {group: _Standing(at) for group in groups}
        for each in listed.groups:
            if each.group_id in standings:
                standing = standings[each.group_id]
                standing.type, standing.state = each.group_type.lower() or CLASSIC, each.group_state
        found: dict[str, _Standing | Trouble] = dict(standings)
        found |= await _describe(cluster, at, standings)
        found |= await _read_offsets(cluster, at, {g: s for g, s in standings.items() if s.type != SHARE})
        found |= await _read_share_offsets(cluster, at, {g: s for g, s in standings.items() if s.type == SHARE})
    except (ClusterUnreachable, Refused) as error:
        return dict.fromkeys(groups, error)
    return found


async def _describe(cluster: KafkaCluster, at: Address, standings: Mapping[str, _Standing]) -> dict[str, Refused]:
    refused = {}
    by_type: dict[str, list[str]] = defaultdict(list)
    for group, standing in standings.items():
        by_type[standing.type].append(group)
    requests: dict[str, Any] = {
        CLASSIC: DescribeGroupsRequest(groups=by_type[CLASSIC]),
        CONSUMER: ConsumerGroupDescribeRequest(group_ids=by_type[CONSUMER]),
        SHARE: ShareGroupDescribeRequest(group_ids=by_type[SHARE]),
    }
    for type_, request in requests.items():
        if not by_type[type_]:
            continue
        for described in (await cluster.request(request, at=at)).groups:
            standing = standings[described.group_id]
            if described.error_code == ErrorCode.NONE:
                standing.state, standing.members = described.group_state, len(described.members)
                standing.protocol = described.protocol_data if type_ == CLASSIC else described.assignor_name
                standing.statics = _statics(type_, described.members)
            elif described.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                refused[described.group_id] = Refused(described.error_code, described.error_message)
    return refused


def _statics(type_: str, members: Iterable[Any]) -> dict[str, str]:
    """Members of share groups have no lasting names."""
    if type_ == SHARE:
        return {}
    names = {each.member_id: each.group_instance_id if type_ == CLASSIC else each.instance_id for each in members}
    return {instance_id: member_id for member_id, instance_id in names.items() if instance_id is not None}


async def _read_offsets(cluster: KafkaCluster, at: Address, standings: Mapping[str, _Standing]) -> dict[str, Refused]:
    if not standings:
        return {}
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each, topics=None) for each in standings])
    refused = {}
    for group in (await cluster.request(request, at=at, version=OFFSET_FETCH_VERSION)).groups:
        if group.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            refused[group.group_id] = Refused(group.error_code, None)
        for topic in group.topics:
            for each in topic.partitions:
                if each.committed_offset >= 0:
                    standings[group.group_id].committed[topic.name, each.partition_index] = each.committed_offset
    return refused


async def _read_share_offsets(
    cluster: KafkaCluster, at: Address, standings: Mapping[str, _Standing]
) -> dict[str, Refused]:
    if not standings:
        return {}
    asked = [DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in standings]
    refused = {}
    for group in (await cluster.request(DescribeShareGroupOffsetsRequest(groups=asked), at=at)).groups:
        if group.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            refused[group.group_id] = Refused(group.error_code, group.error_message)
        standing = standings[group.group_id]
        for topic in group.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.NONE and each.start_offset >= 0:
                    standing.committed[topic.topic_name, each.partition_index] = each.start_offset
                if each.error_code == ErrorCode.NONE and each.lag >= 0:
                    standing.left[topic.topic_name, each.partition_index] = each.lag
    return refused


async def _configs(cluster: KafkaCluster, groups: Sequence[str]) -> dict[str, dict[str, str]]:
    """What is set for each group itself."""
    if not groups:
        return {}
    resources = [
        DescribeConfigsResource(resource_type=GROUP_RESOURCE, resource_name=each, configuration_keys=None)
        for each in groups
    ]
    found = {}
    for result in (await cluster.request(DescribeConfigsRequest(resources=resources))).results:
        check(result.error_code, result.error_message)
        found[result.resource_name] = {
            config.name: config.value
            for config in result.configs
            if config.config_source == GROUP_CONFIG and config.value is not None
        }
    return found


# ---- what leaders say ----


async def _ranges(
    cluster: KafkaCluster, metadata: MetadataResponse, wanted: set[Partition]
) -> dict[Partition, LogRange]:
    """Start and end of each partition, asked of its leader; those whose leader does not answer are left out."""
    starts, ends = await asyncio.gather(
        _offsets_at(cluster, metadata, dict.fromkeys(wanted, EARLIEST)),
        _offsets_at(cluster, metadata, dict.fromkeys(wanted, LATEST)),
    )
    return {each: LogRange(starts[each], ends[each]) for each in wanted if each in starts and each in ends}


async def offsets_at(cluster: KafkaCluster, times_ms: Mapping[Partition, int]) -> dict[Partition, int]:
    """The first offset of each partition at or after a time, -1 where nothing is that young; those whose leader does not answer are left out."""
    metadata = await cluster.metadata(sorted({topic for topic, _ in times_ms}))
    return await _offsets_at(cluster, metadata, times_ms)


async def _offsets_at(
    cluster: KafkaCluster, metadata: MetadataResponse, timestamps: Mapping[Partition, int]
) -> dict[Partition, int]:
    addresses = {node.node_id: (node.host, node.port) for node in metadata.brokers}
    by_leader: dict[Address, dict[str, list[ListOffsetsPartition]]] = defaultdict(lambda: defaultdict(list))
    for topic in metadata.topics:
        for p in topic.partitions:
            timestamp = timestamps.get((topic.name or "", p.partition_index))
            if p.leader_id in addresses and timestamp is not None:
                asked = ListOffsetsPartition(partition_index=p.partition_index, timestamp=timestamp)
                by_leader[addresses[p.leader_id]][topic.name or ""].append(asked)
    answers = await asyncio.gather(*(_offsets_of(cluster, leader, asked) for leader, asked in by_leader.items()))
    return {partition: offset for answer in answers for partition, offset in answer.items()}


async def _offsets_of(
    cluster: KafkaCluster, leader: Address, asked: Mapping[str, list[ListOffsetsPartition]]
) -> dict[Partition, int]:
    topics = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in asked.items()]
    try:
        answer = await cluster.request(ListOffsetsRequest(replica_id=-1, topics=topics), at=leader)
    except ClusterUnreachable:
        return {}  # its partitions are told as unanswered
    return {
        (topic.name, p.partition_index): p.offset
        for topic in answer.topics
        for p in topic.partitions
        if p.error_code == ErrorCode.NONE
    }

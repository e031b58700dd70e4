"""Groups from outside: which there are, who is in them, how far they have read and how far behind that is; offsets set and forgotten.

Of all three kinds: classic, consumer (KIP-848) and share groups.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Backoff, Cluster
from millstream_client.coordination import Coordination
from millstream_client.errors import Refused, check
from millstream_client.offsets import LATEST, find_offsets
from millstream_wire.codec import DecodeError, decode_embedded
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream_wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from millstream_wire.messages.delete_groups import DeleteGroupsRequest
from millstream_wire.messages.describe_groups import DescribedGroup as ClassicGroup
from millstream_wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest
from millstream_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from millstream_wire.messages.list_groups import ListedGroup as AnsweredGroup
from millstream_wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream_wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from millstream_wire.messages.share_group_describe import ShareGroupDescribeRequest
from millstream_wire.stored import ConsumerProtocolAssignment

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
_PROTOCOL_OF_CONSUMERS = "consumer"
_EMPTY_STATES = ("Empty", "Dead")
LOAD_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True)
class ListedGroup:
    group_id: str
    type: str
    """classic, consumer, share"""
    state: str
    protocol_type: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Group:
    group_id: str
    type: str
    state: str
    coordinator: int
    assignor: str
    members: tuple[Member, ...]

    @property
    def is_empty(self) -> bool:
        return self.state in _EMPTY_STATES


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group has read one partition. `committed`: None where it never said; of a share group its start offset."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None


async def list_groups(cluster: Cluster) -> list[ListedGroup]:
    """Every node tells of the groups that it coordinates; one that has just taken some up is waited for."""
    snapshot = await cluster.describe([])
    found = []
    for node_id in snapshot.nodes:
        answer = await _ask_for_groups(cluster, node_id)
        found += [_listed(each, node_id) for each in answer.groups]
    return sorted(found, key=lambda each: each.group_id)


async def _ask_for_groups(cluster: Cluster, node_id: int) -> ListGroupsResponse:
    deadline_ms = cluster.world.monotonic_ms() + LOAD_TIMEOUT_MS
    backoff = Backoff()
    while True:
        answer: ListGroupsResponse = await cluster.ask(node_id, ListGroupsRequest())
        is_over = cluster.world.monotonic_ms() > deadline_ms
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS or is_over:
            check(answer.error_code, subject=f"groups of node {node_id}")
            return answer
        await backoff.wait()


def _listed(group: AnsweredGroup, node_id: int) -> ListedGroup:
    """Without a type it is of a server that knows classic groups only."""
    kind = group.group_type.lower() or CLASSIC
    return ListedGroup(group.group_id, kind, group.group_state, group.protocol_type, node_id)


async def describe_group(cluster: Cluster, group_id: str) -> Group:
    """Raise Refused with GROUP_ID_NOT_FOUND if its coordinator does not have it."""
    async with _coordination(cluster, group_id) as coordination:
        answer = await coordination.ask(ListGroupsRequest(), _code)
        check(answer.error_code, subject=f"group {group_id}")
        of_it = next((each for each in answer.groups if each.group_id == group_id), None)
        if of_it is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, subject=f"group {group_id}")
        listed = _listed(of_it, coordination.node_id)
        match listed.type:
            case "consumer":
                request: Any = ConsumerGroupDescribeRequest(group_ids=[group_id])
            case "share":
                request = ShareGroupDescribeRequest(group_ids=[group_id])
            case _:
                request = DescribeGroupsRequest(groups=[group_id])
        described = (await coordination.ask(request, _code_of_description)).groups[0]
    check(described.error_code, getattr(described, "error_message", None), subject=f"group {group_id}")
    if isinstance(request, DescribeGroupsRequest):
        assignor, members = described.protocol_data, _members_of_classic(described)
    else:
        assignor, members = described.assignor_name, [_member(each) for each in described.members]
    return Group(group_id, listed.type, described.group_state, listed.coordinator, assignor, tuple(members))


def _member(member: Any) -> Member:
    """Of consumer and of share groups, whose answers have the same fields but for the instance's id."""
    partitions = tuple(
        TopicPartition(topic.topic_name, index)
        for topic in member.assignment.topic_partitions
        for index in sorted(topic.partitions)
    )
    instance_id = getattr(member, "instance_id", None)
    return Member(member.member_id, instance_id, member.client_id, member.client_host, partitions)


def _members_of_classic(described: ClassicGroup) -> list[Member]:
    is_of_consumers = described.protocol_type == _PROTOCOL_OF_CONSUMERS
    return [
        Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            _assigned(each) if is_of_consumers else (),
        )
        for each in described.members
    ]


def _assigned(member: DescribedGroupMember) -> tuple[TopicPartition, ...]:
    """None while a rebalance is under way, and of members whose client writes something of its own."""
    try:
        assignment = decode_embedded(ConsumerProtocolAssignment, member.member_assignment)
    except DecodeError:
        return ()
    return tuple(
        TopicPartition(each.topic, index)
        for each in assignment.assigned_partitions
        for index in sorted(each.partitions)
    )


# ---- how far they have read ----


async def lags_of(cluster: Cluster, group: Group) -> list[Lag]:
    """Of every partition that the group has committed in or that one of its members has."""
    if group.type == SHARE:
        return await _lags_of_share(cluster, group)
    async with _coordination(cluster, group.group_id) as coordination:
        committed = await coordination.committed(None)
    snapshot = await cluster.describe()
    assigned = (each for member in group.members for each in member.partitions)
    known = {
        each
        for each in (*committed, *assigned)
        if each.topic in snapshot.topics and each.partition < len(snapshot.topics[each.topic].partitions)
    }
    wanted = sorted(known)
    ends = await find_offsets(cluster, dict.fromkeys(wanted, LATEST))
    return [
        Lag(each.topic, each.partition, committed.get(each), ends[each], _lag(committed.get(each), ends[each]))
        for each in wanted
    ]


def _lag(committed: int | None, end: int) -> int | None:
    return None if committed is None else max(0, end - committed)


async def _lags_of_share(cluster: Cluster, group: Group) -> list[Lag]:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group.group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[asked])
    async with _coordination(cluster, group.group_id) as coordination:
        described = (await coordination.ask(request, _code_of_description)).groups[0]
    check(described.error_code, described.error_message, subject=f"group {group.group_id}")
    found = {
        TopicPartition(topic.topic_name, each.partition_index): each
        for topic in described.topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NONE
    }
    ends = await find_offsets(cluster, dict.fromkeys(found, LATEST))
    return [
        Lag(
            each.topic,
            each.partition,
            _or_none(found[each].start_offset),
            ends[each],
            _or_none(found[each].lag),
        )
        for each in sorted(found)
    ]


def _or_none(value: int) -> int | None:
    return value if value >= 0 else None


# ---- offsets and groups, changed ----


async def set_offsets(
    cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int], *, is_share: bool = False
) -> None:
    """As if the group had read up to there. Refused while it has members."""
    async with _coordination(cluster, group_id) as coordination:
        if not is_share:
            await coordination.commit(offsets)
            return
        by_topic: defaultdict[str, list[AlterShareGroupOffsetsRequestPartition]] = defaultdict(list)
        for (name, index), offset in offsets.items():
            by_topic[name].append(AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset))
        topics = [
            AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=each) for name, each in by_topic.items()
        ]
        answer = await coordination.ask(AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics), _code)
    check(answer.error_code, answer.error_message, subject=f"group {group_id}")
    for topic in answer.responses:
        for each in topic.partitions:
            where = f"group {group_id}, {topic.topic_name}-{each.partition_index}"
            check(each.error_code, each.error_message, subject=where)


async def delete_offsets(cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition]) -> None:
    by_topic: defaultdict[str, list[OffsetDeleteRequestPartition]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(OffsetDeleteRequestPartition(partition_index=partition))
    topics = [OffsetDeleteRequestTopic(name=name, partitions=each) for name, each in by_topic.items()]
    async with _coordination(cluster, group_id) as coordination:
        answer = await coordination.ask(OffsetDeleteRequest(group_id=group_id, topics=topics), _code)
    check(answer.error_code, subject=f"group {group_id}")
    for topic in answer.topics:
        for each in topic.partitions:
            check(each.error_code, subject=f"group {group_id}, {topic.name}-{each.partition_index}")


async def delete_group(cluster: Cluster, group_id: str) -> None:
    """With its offsets. Refused while it has members."""
    async with _coordination(cluster, group_id) as coordination:
        answer = await coordination.ask(DeleteGroupsRequest(groups_names=[group_id]), _code_of_deletion)
    result = answer.results[0]
    check(result.error_code, result.error_message, subject=f"group {group_id}")


@asynccontextmanager
async def _coordination(cluster: Cluster, group_id: str) -> AsyncIterator[Coordination]:
    coordination = Coordination(cluster, group_id)
    try:
        yield coordination
    finally:
        await coordination.close()


def _code(answer: Any) -> int:
    code: int = answer.error_code
    return code


def _code_of_description(answer: Any) -> int:
    code: int = answer.groups[0].error_code
    return code


def _code_of_deletion(answer: Any) -> int:
    code: int = answer.results[0].error_code
    return code

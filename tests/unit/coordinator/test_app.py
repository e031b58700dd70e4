"""A coordinator's life: groups and offsets over the wire, and what happens when its shard is not its own any more."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from millstream_cluster.ids import OFFSETS_TOPIC, NodeId
from millstream_cluster.shard import shard_of
from millstream_coordinator.core.group_shard.record_format import encode_record
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_runtime.nodes.client import Client
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    ProduceRequest,
    SyncGroupRequest,
)
from millstream_wire.messages.join_group import JoinGroupRequestProtocol
from millstream_wire.messages.leave_group import MemberIdentity
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from millstream_wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.sync_group import SyncGroupRequestAssignment
from millstream_wire.records import Record, encode_batch

RETRIABLE = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def until(is_true: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1_000):
        if await is_true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")


async def ask(client: Client, request: Any, version: int | None = None) -> Any:
    return await client.request(request, timeout_ms=10_000, version=version)


async def commit(client: Client, offset: int, *, version: int = 9, **fields: Any) -> ErrorCode:
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_leader_epoch=3, committed_metadata="note"
    )
    request = OffsetCommitRequest(
        **({"group_id": "g"} | fields), topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])]
    )
    answer = await ask(client, request, version)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


async def commit_when_served(client: Client, offset: int) -> None:
    async def is_committed() -> bool:
        error = await commit(client, offset)
        assert error is ErrorCode.NONE or error in RETRIABLE
        return error is ErrorCode.NONE

    await until(is_committed)


async def committed(client: Client, group_id: str = "g") -> int | ErrorCode:
    group = OffsetFetchRequestGroup(
        group_id=group_id, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    )
    answer = (await ask(client, OffsetFetchRequest(groups=[group]), 9)).groups[0]
    if answer.error_code:
        return ErrorCode(answer.error_code)
    return int(answer.topics[0].partitions[0].committed_offset)


async def join(client: Client, member_id: str = "", **fields: Any) -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"sub")],
        **fields,
    )
    answer = await ask(client, request)
    assert isinstance(answer, JoinGroupResponse)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return await join(client, answer.member_id, **fields)
    return answer


async def stable_group(client: Client) -> JoinGroupResponse:
    joined = await join(client)
    assert joined.error_code == ErrorCode.NONE
    request = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")],
    )
    synced = await ask(client, request)
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"all")
    return joined


async def heartbeat(client: Client, joined: JoinGroupResponse) -> ErrorCode:
    request = HeartbeatRequest(group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
    return ErrorCode((await ask(client, request)).error_code)


def test_a_group_lives_and_is_gone(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 1)
        joined = await stable_group(client)
        assert await heartbeat(client, joined) is ErrorCode.NONE
        member = {"generation_id_or_member_epoch": joined.generation_id, "member_id": joined.member_id}
        assert await commit(client, 42, **member) is ErrorCode.NONE
        assert await committed(client) == 42
        listed = await ask(client, ListGroupsRequest())
        assert [(g.group_id, g.protocol_type, g.group_state) for g in listed.groups] == [("g", "consumer", "Stable")]
        (described,) = (await ask(client, DescribeGroupsRequest(groups=["g"]))).groups
        assert (described.group_state, described.protocol_data) == ("Stable", "range")
        assert [(m.member_metadata, m.member_assignment) for m in described.members] == [(b"sub", b"all")]
        deleted = await ask(client, DeleteGroupsRequest(groups_names=["g", "x"]))
        assert [r.error_code for r in deleted.results] == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]
        left = await ask(client, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=joined.member_id)]))
        assert [m.error_code for m in left.members] == [ErrorCode.NONE]
        deleted = await ask(client, DeleteGroupsRequest(groups_names=["g"]))
        assert [r.error_code for r in deleted.results] == [ErrorCode.NONE]
        (described,) = (await ask(client, DescribeGroupsRequest(groups=["g"]))).groups
        assert (described.group_state, described.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
        assert await committed(client) == -1

    run(cluster_at, scenario)


def test_what_was_committed_outlives_the_coordinator(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 7)
        joined = await stable_group(client)
        await cluster.coordinator.stop()
        await cluster.add_coordinator(1)
        moved = await cluster.coordinator_of("g")

        async def is_served() -> bool:
            return await committed(moved) not in RETRIABLE

        await until(is_served)
        assert await committed(moved) == 7
        assert await heartbeat(moved, joined) is ErrorCode.NONE

    run(cluster_at, scenario)


def test_a_claim_by_another_ends_the_first_owners_writing_and_reading(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 7)
        partition = shard_of("g", cluster.offsets_partitions)
        controller = await cluster.client(cluster.controller.address, NodeId(10_000))
        name = f"{OFFSETS_TOPIC}-{partition}"
        claim = await ask(controller, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1_000))
        # Epochs of the controller's would reach the first owner by the metadata: take one that nobody told it of.
        epoch = claim.producer_epoch + 5
        key, value = encode_record(ShardClaimed(10_009, epoch))
        batch = encode_batch(
            [Record(0, 0, key, value)], producer_id=claim.producer_id, producer_epoch=epoch, base_sequence=0
        )
        thief = await cluster.client(cluster.broker.address, NodeId(10_077))
        data = TopicProduceData(
            name=OFFSETS_TOPIC, partition_data=[PartitionProduceData(index=partition, records=batch)]
        )
        stolen = await ask(thief, ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data]), 12)
        assert stolen.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        assert await committed(client) in RETRIABLE
        assert await commit(client, 8) in RETRIABLE

    run(cluster_at, scenario)


def test_a_coordinator_that_lost_its_claim_takes_a_new_one(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 7)
        controller = await cluster.client(cluster.controller.address, NodeId(10_000))
        name = f"{OFFSETS_TOPIC}-{shard_of('g', cluster.offsets_partitions)}"
        await ask(controller, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1_000))
        await commit_when_served(client, 8)
        assert await committed(client) == 8

    run(cluster_at, scenario)


def test_offsets_in_every_version(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 1)
        for version in range(2, 10):
            assert await commit(client, version, version=version) is ErrorCode.NONE
            assert await committed(client) == version
        for version in range(1, 8):
            topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
            answer = await ask(client, OffsetFetchRequest(group_id="g", topics=topics), version)
            first, second = answer.topics[0].partitions
            assert (first.committed_offset, first.metadata, second.committed_offset) == (9, "note", -1)
            if version >= 5:
                assert (first.committed_leader_epoch, second.committed_leader_epoch) == (3, -1)
        for version in (2, 7):
            answer = await ask(client, OffsetFetchRequest(group_id="g", topics=None), version)
            assert [(t.name, len(t.partitions)) for t in answer.topics] == [("t", 1)]
        for version in (8, 9, 10):
            groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("g", "nobody")]
            answer = await ask(client, OffsetFetchRequest(groups=groups), version)
            assert [(g.group_id, g.error_code, len(g.topics)) for g in answer.groups] == [("g", 0, 1), ("nobody", 0, 0)]
        topic_id = answer.groups[0].topics[0].topic_id
        partition = OffsetCommitRequestPartition(partition_index=1, committed_offset=10)
        request = OffsetCommitRequest(
            group_id="g", topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=[partition])]
        )
        assert (await ask(client, request, 10)).topics[0].partitions[0].error_code == ErrorCode.NONE

    run(cluster_at, scenario)


def test_commits_that_are_refused(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 1)
        topics = [
            OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    OffsetCommitRequestPartition(partition_index=0, committed_metadata="x" * 5_000),
                    OffsetCommitRequestPartition(partition_index=9),
                    OffsetCommitRequestPartition(partition_index=1, committed_offset=3, committed_metadata=None),
                ],
            ),
            OffsetCommitRequestTopic(name="missing", partitions=[OffsetCommitRequestPartition(partition_index=0)]),
        ]
        answer = await ask(client, OffsetCommitRequest(group_id="g", topics=topics), 9)
        assert [[p.error_code for p in t.partitions] for t in answer.topics] == [
            [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE],
            [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        ]
        assert await commit(client, 1, group_id="h", generation_id_or_member_epoch=3) in (
            ErrorCode.GROUP_ID_NOT_FOUND,
            *RETRIABLE,
        )
        deletion = OffsetDeleteRequest(
            group_id="g",
            topics=[
                OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
                for name in ("t", "missing")
            ],
        )
        answer = await ask(client, deletion)
        codes = [t.partitions[0].error_code for t in answer.topics]
        assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await committed(client) == -1

    run(cluster_at, scenario)


def test_names_and_metadata_that_nobody_could_store(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        await cluster.create_topic("t")
        client = await cluster.coordinator_of("g")
        await commit_when_served(client, 1)
        assert await commit(client, 1, group_id="x" * 40_000) is ErrorCode.INVALID_GROUP_ID
        assert (await join(client, group_instance_id="i" * 40_000)).error_code == ErrorCode.INVALID_REQUEST
        huge = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(1_000_000))],
        )
        assert (await ask(client, huge)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        huge.protocols = [JoinGroupRequestProtocol(name="r" * 40_000)]
        assert (await ask(client, huge)).error_code == ErrorCode.INVALID_REQUEST
        long = await cluster.client(cluster.coordinator.address, client_id="c" * 32_000)
        joined = await stable_group(long)
        assert len(joined.member_id) < 300
        assert await committed(client) == 1

    run(cluster_at, scenario)


def test_what_any_node_is_asked(cluster_at: Any) -> None:
    async def scenario(cluster: Any) -> None:
        client = await cluster.client(cluster.coordinator.address)
        (directory,) = (await ask(client, DescribeLogDirsRequest(topics=None))).results
        assert (directory.error_code, directory.topics) == (ErrorCode.NONE, [])

        async def has_producer_id() -> bool:
            answer = await ask(client, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000))
            return bool(answer.error_code == ErrorCode.NONE and answer.producer_id >= 0)

        await until(has_producer_id)
        assert (await join(client)).error_code == ErrorCode.NOT_COORDINATOR

    run(cluster_at, scenario)


def run(cluster_at: Any, scenario: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), cluster_at() as cluster:
            await scenario(cluster)

    asyncio.run(main())

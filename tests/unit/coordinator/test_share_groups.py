"""Share groups over the wire, with a real broker: members are given partitions, and what is kept of them lives in shards of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from millstream_cluster.ids import SHARE_STATE_TOPIC
from millstream_runtime.nodes.client import Client
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AlterShareGroupOffsetsRequest,
    DeleteGroupsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ListGroupsRequest,
    ReadShareGroupStateRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    UpdateFeaturesRequest,
    WriteShareGroupStateRequest,
)
from millstream_wire.messages import (
    read_share_group_state as reading,
)
from millstream_wire.messages import (
    write_share_group_state as writing,
)
from millstream_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from millstream_wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequestTopic
from millstream_wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequestGroup
from millstream_wire.messages.update_features import FeatureUpdateKey

SAFE_DOWNGRADE = 2
WAITED_FOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


async def ask(client: Client, request: Any) -> Any:
    return await client.request(request, timeout_ms=10_000)


class Member:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.epoch = 0
        self.has: dict[Any, list[int]] = {}

    async def heartbeat(self, epoch: int | None = None) -> Any:
        topics = ["t"] if self.epoch == 0 else None
        asked = self.epoch if epoch is None else epoch
        request = ShareGroupHeartbeatRequest(
            group_id="g", member_id="m", member_epoch=asked, subscribed_topic_names=topics
        )
        while True:
            answer = await ask(self.client, request)
            if answer.error_code not in WAITED_FOR:
                break
            await asyncio.sleep(0.02)
        assert answer.error_code == ErrorCode.NONE, answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.has = {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions}
        return answer

    async def until_it_reads(self) -> Any:
        """The id of the topic it was given."""
        while not self.has:
            await self.heartbeat()
            await asyncio.sleep(0.05)
        ((topic_id, partitions),) = self.has.items()
        assert partitions == [0, 1]
        return topic_id


async def write(client: Client, topic_id: Any, start_offset: int, state_epoch: int) -> ErrorCode:
    batch = writing.StateBatch(
        first_offset=start_offset + 1, last_offset=start_offset + 2, delivery_state=2, delivery_count=1
    )
    data = writing.PartitionData(
        partition=0,
        state_epoch=state_epoch,
        leader_epoch=0,
        start_offset=start_offset,
        delivery_complete_count=2,
        state_batches=[batch],
    )
    topic = writing.WriteStateData(topic_id=topic_id, partitions=[data])
    answer = await ask(client, WriteShareGroupStateRequest(group_id="g", topics=[topic]))
    return ErrorCode(answer.results[0].partitions[0].error_code)


async def read(client: Client, topic_id: Any, partition: int = 0) -> Any:
    data = reading.PartitionData(partition=partition, leader_epoch=0)
    topic = reading.ReadStateData(topic_id=topic_id, partitions=[data])
    answer = await ask(client, ReadShareGroupStateRequest(group_id="g", topics=[topic]))
    return answer.results[0].partitions[0]


async def loaded(client: Client, topic_id: Any) -> Any:
    """What was read, once the shard's new owner has it."""
    known = await read(client, topic_id)
    return None if known.error_code in WAITED_FOR else known


async def eventually(look: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(1_000):
        if found := await look():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")


async def describe(client: Client) -> dict[int, tuple[int, int]]:
    """Start offset and lag of each partition."""
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    answer = await ask(client, DescribeShareGroupOffsetsRequest(groups=[group]))
    (described,) = answer.groups
    assert described.error_code == ErrorCode.NONE
    return {
        each.partition_index: (each.start_offset, each.lag) for topic in described.topics for each in topic.partitions
    }


def test_a_member_is_given_partitions_whose_state_is_kept_until_the_group_is_deleted(cluster_at: Any) -> None:
    async def scenario() -> None:
        async with cluster_at() as cluster:
            await cluster.create_topic("t")
            client = await cluster.coordinator_of("g")
            member = Member(client)
            topic_id = await member.until_it_reads()
            assert await describe(client) == {0: (-1, -1), 1: (-1, -1)}
            begun = await read(client, topic_id)
            assert (begun.error_code, begun.start_offset, begun.state_epoch) == (0, -1, 1)
            assert await write(client, topic_id, 0, begun.state_epoch) is ErrorCode.NONE
            assert await describe(client) == {0: (0, -2), 1: (-1, -1)}

            described = (await ask(client, ShareGroupDescribeRequest(group_ids=["g"]))).groups[0]
            assert (described.group_state, described.assignor_name) == ("Stable", "simple")
            (shown,) = described.members
            assert [(topic.topic_name, topic.partitions) for topic in shown.assignment.topic_partitions] == [
                ("t", [0, 1])
            ]
            listed = (await ask(client, ListGroupsRequest(types_filter=["share"]))).groups
            assert [(group.group_id, group.protocol_type, group.group_state) for group in listed] == [
                ("g", "share", "Stable")
            ]

            refused = await ask(client, DeleteGroupsRequest(groups_names=["g"]))
            assert refused.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
            await member.heartbeat(-1)
            asked = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=7)
            unknown = AlterShareGroupOffsetsRequestPartition(partition_index=9, start_offset=7)
            topic = AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[asked, unknown])
            altered = await ask(client, AlterShareGroupOffsetsRequest(group_id="g", topics=[topic]))
            assert altered.error_code == ErrorCode.NONE
            assert [each.error_code for each in altered.responses[0].partitions] == [
                ErrorCode.NONE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]
            anew = await read(client, topic_id)
            assert (anew.start_offset, anew.state_batches) == (7, [])
            assert await write(client, topic_id, 0, begun.state_epoch) is ErrorCode.FENCED_STATE_EPOCH

            forgotten = DeleteShareGroupOffsetsRequest(
                group_id="g",
                topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("t", "missing")],
            )
            answer = await ask(client, forgotten)
            assert [each.error_code for each in answer.responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            assert (await read(client, topic_id)).error_code == ErrorCode.INVALID_REQUEST
            member = Member(client)
            await member.until_it_reads()
            await member.heartbeat(-1)
            deleted = await ask(client, DeleteGroupsRequest(groups_names=["g"]))
            assert deleted.results[0].error_code == ErrorCode.NONE
            assert (await read(client, topic_id)).error_code == ErrorCode.INVALID_REQUEST
            assert (await ask(client, ListGroupsRequest())).groups == []

    asyncio.run(scenario())


def test_the_next_owner_of_the_shards_goes_on_where_the_last_one_stopped(cluster_at: Any) -> None:
    async def scenario() -> None:
        async with cluster_at() as cluster:
            await cluster.create_topic("t")
            client = await cluster.coordinator_of("g")
            member = Member(client)
            topic_id = await member.until_it_reads()
            begun = await read(client, topic_id)
            assert await write(client, topic_id, 5, begun.state_epoch) is ErrorCode.NONE
            second = await cluster.add_coordinator(1)
            await cluster.coordinator.stop()
            member.client = await cluster.client(second.address)
            answer = await member.heartbeat()
            assert (answer.member_epoch, answer.assignment) == (member.epoch, None)
            known = await eventually(lambda: loaded(member.client, topic_id))
            assert (known.start_offset, known.state_epoch) == (5, begun.state_epoch)
            assert [(each.first_offset, each.last_offset) for each in known.state_batches] == [(6, 7)]

    asyncio.run(scenario())


def test_the_state_of_a_deleted_topic_goes_with_it(cluster_at: Any) -> None:
    async def scenario() -> None:
        async with cluster_at() as cluster:
            await cluster.create_topic("t")
            client = await cluster.coordinator_of("g")
            await Member(client).until_it_reads()

            def kept() -> int:
                machines = cluster.coordinator.app.machines().items()
                return sum(len(machine.states) for name, machine in machines if name.startswith(SHARE_STATE_TOPIC))

            async def is_forgotten() -> bool:
                return kept() == 0

            assert kept() == 2
            await cluster.delete_topic("t")
            await eventually(is_forgotten)
            assert await describe(client) == {}

    asyncio.run(scenario())


def test_a_cluster_whose_share_version_is_lowered_to_0_serves_no_share_groups(cluster_at: Any) -> None:
    async def scenario() -> None:
        async with cluster_at() as cluster:
            await cluster.create_topic("t")
            client = await cluster.coordinator_of("g")
            member = Member(client)
            await member.until_it_reads()
            lowered = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
            assert (await ask(client, UpdateFeaturesRequest(feature_updates=[lowered]))).error_code == ErrorCode.NONE

            async def is_known() -> bool:
                answer = await ask(client, DeleteShareGroupOffsetsRequest(group_id="g"))
                return bool(answer.error_code == ErrorCode.UNSUPPORTED_VERSION)

            await eventually(is_known)
            group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
            described = await ask(client, DescribeShareGroupOffsetsRequest(groups=[group]))
            answers = [
                await ask(client, ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=member.epoch)),
                (await ask(client, ShareGroupDescribeRequest(group_ids=["g"]))).groups[0],
                described.groups[0],
                await ask(client, AlterShareGroupOffsetsRequest(group_id="g")),
            ]
            assert [answer.error_code for answer in answers] == [ErrorCode.UNSUPPORTED_VERSION] * 4

    asyncio.run(scenario())

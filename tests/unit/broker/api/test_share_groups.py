"""ShareFetch and ShareAcknowledge with a real log, beside a coordinator that keeps what it is told to, or refuses."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from share_scene import ACCEPT, PATIENCE_S, REJECT, RELEASE, RENEW, Group, acquired, errors, serving

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteRecordsRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from millstream_wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic


@pytest.fixture
def scenario(node: Any) -> Callable[[Callable[[Group], Awaitable[None]]], None]:
    """Run a scenario against a broker and the coordinator beside it."""

    def run(body: Callable[[Group], Awaitable[None]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(PATIENCE_S), serving(node) as group:
                await body(group)

        asyncio.run(main())

    return run


@pytest.mark.parametrize("version", [1, 2])
def test_two_members_share_one_partition(scenario: Any, batch: Any, values: Any, version: int) -> None:
    async def body(group: Group) -> None:
        one, other = group.member(version=version), group.member(version=version)
        group.produce(batch("a", "b"), batch("c", "d"))
        first = await one.fetch(max_records=1)
        assert acquired(first) == [(0, 1, 1)]
        (data,) = first.responses[0].partitions
        assert values(data.records) == [(0, "a"), (1, "b")]
        assert first.acquisition_lock_timeout_ms == 30_000
        assert acquired(await other.fetch()) == [(2, 3, 1)]
        assert acquired(await one.fetch((0, 1, [ACCEPT]), max_wait_ms=0)) == []
        assert group.coordinator.start_offset == 2
        assert errors(await other.acknowledge((2, 3, [REJECT, ACCEPT]))) == [(0, 0)]
        assert group.coordinator.start_offset == 4

    scenario(body)


@pytest.mark.parametrize("nothing", [{"max_bytes": 0}, {"max_records": 0}], ids=str)
def test_who_asks_for_nothing_gets_nothing_and_no_partition_is_listed(scenario: Any, batch: Any, nothing: Any) -> None:
    async def body(group: Group) -> None:
        member = group.member()
        group.produce(batch("a"))
        for _ in range(2):
            assert (await member.fetch(**nothing)).responses == []
        assert acquired(await member.fetch()) == [(0, 0, 1)]

    scenario(body)


def test_a_fetch_that_wants_no_bytes_does_not_wait(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        member = group.member()
        group.produce(batch("a"))
        assert acquired(await member.fetch()) == [(0, 0, 1)]
        async with asyncio.timeout(PATIENCE_S / 2):
            assert acquired(await member.fetch(min_bytes=0, max_wait_ms=3_600_000)) == []

    scenario(body)


def test_a_fetch_waits_for_appends_and_for_what_comes_back(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        one, other = group.member(), group.member()
        waiting = asyncio.create_task(one.fetch())
        await asyncio.sleep(0.1)
        group.produce(batch("a"))
        assert acquired(await waiting) == [(0, 0, 1)]
        waiting = asyncio.create_task(other.fetch(min_bytes=1_000_000))
        await asyncio.sleep(0.1)
        await one.acknowledge((0, 0, [RELEASE]))
        assert acquired(await waiting) == [(0, 0, 2)]

    scenario(body)


def test_a_strict_fetch_keeps_to_its_number_and_sends_no_batch_for_nothing(
    scenario: Any, batch: Any, values: Any
) -> None:
    async def body(group: Group) -> None:
        group.produce(batch("a", "b", "c"), batch("d"))
        member = group.member()
        reply = await member.fetch(max_records=2, share_acquire_mode=1)
        assert acquired(reply) == [(0, 1, 1)]
        assert len(values(reply.responses[0].partitions[0].records)) == 3

    scenario(body)


def test_who_leaves_leaves_what_it_had_to_the_others(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.produce(batch("a"), batch("b"))
        one, other = group.member(), group.member()
        await one.fetch()
        assert errors(await one.acknowledge((0, 0, [ACCEPT]), epoch=-1)) == [(0, 0)]
        assert (await one.fetch(epoch=1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        assert acquired(await other.fetch()) == [(1, 1, 2)]
        third = group.member()
        waiting = asyncio.create_task(third.fetch())
        await asyncio.sleep(0.1)
        other.disconnect()
        assert acquired(await waiting) == [(1, 1, 3)]
        groups = group.node.broker.share_groups
        assert len(groups.sessions) == 1
        third.disconnect()
        assert len(groups.sessions) == 0
        while len(groups.partitions):
            await group.coordinator.until(writes=group.coordinator.writes + 1)
            await asyncio.sleep(0.01)
        assert group.coordinator.states == {1: (0, 3)}

    scenario(body)


def test_what_takes_too_long_comes_back_until_it_is_given_up(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.configure("share.record.lock.duration.ms", "200")
        group.configure("share.delivery.count.limit", "2")
        group.produce(batch("a"))
        member = group.member()
        assert acquired(await member.fetch()) == [(0, 0, 1)]
        assert acquired(await member.fetch()) == [(0, 0, 2)]
        await group.coordinator.until(writes=1)
        assert group.coordinator.states == {0: (0, 1)}
        assert acquired(await member.fetch(max_wait_ms=600)) == []
        assert errors(await member.acknowledge((0, 0, [ACCEPT]))) == [(0, 0)]  # done is done, whoever did it
        assert (group.coordinator.start_offset, group.coordinator.states) == (1, {})

    scenario(body)


def test_more_time_is_for_the_asking(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.configure("share.record.lock.duration.ms", "1000")
        group.produce(batch("a"))
        one, other = group.member(), group.member()
        await one.fetch()
        for _ in range(4):
            await asyncio.sleep(0.4)
            renewed = await one.acknowledge((0, 0, [RENEW]), is_renew_ack=True)
            assert (errors(renewed), renewed.acquisition_lock_timeout_ms) == ([(0, 0)], 1_000)
        assert errors(await one.acknowledge((0, 0, [RENEW]))) == [(ErrorCode.INVALID_REQUEST, 0)]
        assert group.coordinator.writes == 0
        assert acquired(await other.fetch()) == [(0, 0, 2)]

    scenario(body)


def test_state_is_taken_up_where_it_was_left(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.coordinator.start_offset = 1
        group.coordinator.states = {2: (2, 1), 3: (0, 4)}
        group.produce(batch("a", "b", "c", "d", "e"))
        assert acquired(await group.member().fetch()) == [(1, 1, 1), (3, 3, 5), (4, 4, 1)]

    scenario(body)


@pytest.mark.parametrize(("reset", "first"), [("earliest", 0), ("latest", 2), ("by_duration:P1D", 1)])
def test_a_new_group_begins_where_it_is_told_to(scenario: Any, batch: Any, reset: str, first: int) -> None:
    async def body(group: Group) -> None:
        group.coordinator.start_offset = -1
        group.configure("share.auto.offset.reset", reset)
        group.produce(batch("old"), batch("new", timestamp=group.node.world.now_ms()))
        waiting = asyncio.create_task(group.member().fetch())
        await group.coordinator.until(writes=1)
        assert group.coordinator.start_offset == first
        group.produce(batch("newest"))
        assert acquired(await waiting)[0][0] == first

    scenario(body)


def test_what_is_not_stored_did_not_happen(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.produce(batch("a"))
        one, other = group.member(), group.member()
        await one.fetch()
        group.coordinator.error = ErrorCode.FENCED_STATE_EPOCH
        assert errors(await one.acknowledge((0, 0, [ACCEPT]))) == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)]
        group.coordinator.error = ErrorCode.NONE
        assert acquired(await other.fetch()) == [(0, 0, 1)]
        assert group.coordinator.reads == 2

    scenario(body)


def test_a_coordinator_that_is_away_is_waited_for(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.coordinator.error = ErrorCode.NOT_COORDINATOR
        group.produce(batch("a"))
        member = group.member()
        waiting = asyncio.create_task(member.fetch())
        await group.coordinator.until(reads=2)
        group.coordinator.error = ErrorCode.NONE
        assert acquired(await waiting) == [(0, 0, 1)]
        group.coordinator.error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        acknowledging = asyncio.create_task(member.acknowledge((0, 0, [ACCEPT])))
        await group.coordinator.until(writes=2)
        group.coordinator.error = ErrorCode.NONE
        assert errors(await acknowledging) == [(0, 0)]

    scenario(body)


def test_requests_that_make_no_sense_are_refused(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.produce(batch("a", "b"))
        member = group.member()
        assert (await member.acknowledge((0, 0, [ACCEPT]), epoch=0)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert (await member.acknowledge((0, 0, [ACCEPT]), epoch=1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        assert (await member.fetch((0, 0, [ACCEPT]))).error_code == ErrorCode.INVALID_REQUEST
        await member.fetch()
        assert (await member.fetch(epoch=9)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert (await member.fetch(is_renew_ack=True)).error_code == ErrorCode.INVALID_REQUEST
        refused = [(ErrorCode.INVALID_REQUEST, 0)]
        for said in (
            (1, 0, [ACCEPT]),
            (0, 1, [ACCEPT] * 3),
            (0, 0, []),
            (0, 0, [9]),
            (0, 2, [ACCEPT]),
            (-1, 0, [ACCEPT]),
        ):
            assert errors(await member.acknowledge(said)) == refused
        assert errors(await member.acknowledge((0, 0, [ACCEPT]), (0, 1, [ACCEPT]))) == refused
        assert errors(await group.member("other").fetch((0, 0, [ACCEPT]), epoch=0)) == []
        assert errors(await member.acknowledge((0, 1, [ACCEPT]))) == [(0, 0)]

    scenario(body)


def test_partitions_that_are_not_here_are_told_of(scenario: Any) -> None:
    async def body(group: Group) -> None:
        elsewhere = group.node.create_topic("elsewhere", leader=2)
        member = group.member()
        member.topic_id = elsewhere
        reply = await member.fetch()
        assert errors(reply) == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)]
        assert reply.responses[0].partitions[0].current_leader.leader_id == 2
        assert [endpoint.host for endpoint in reply.node_endpoints] == ["host-2"]
        member = group.member()
        member.topic_id = UUID(int=12345)
        assert errors(await member.fetch()) == [(ErrorCode.UNKNOWN_TOPIC_ID, 0)]

    scenario(body)


def test_deleted_records_are_nobodys(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.produce(batch("a"), batch("b"), batch("c"))
        one, other = group.member(), group.member()
        await one.fetch(max_records=1)
        topic = DeleteRecordsTopic(name="jobs", partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
        group.node.call(DeleteRecordsRequest(topics=[topic]), 2)
        assert acquired(await other.fetch()) == [(2, 2, 1)]
        assert errors(await one.acknowledge((0, 0, [ACCEPT]))) == [(0, 0)]

    scenario(body)


def test_only_so_many_sessions(scenario: Any, batch: Any) -> None:
    async def body(group: Group) -> None:
        group.node.broker.share_groups.sessions._sessions_max = 1
        group.produce(batch("a"))
        await group.member().fetch()
        assert (await group.member().fetch()).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED

    scenario(body)


def test_who_reads_committed_records_waits_for_them_and_never_gets_what_was_aborted(
    tmp_path: Path, new_broker: Any, batch: Any
) -> None:
    node = new_broker(tmp_path / "data", verifies_transactions=False)
    node.start()
    now_ms = node.world.now_ms()  # as the markers': they belong into the same segment

    def write(value: str, producer_id: int) -> None:
        producer = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
        written = batch(value, timestamp=now_ms, **producer)
        data = TopicProduceData(name="jobs", partition_data=[PartitionProduceData(index=0, records=written)])
        request = ProduceRequest(acks=-1, timeout_ms=1000, transactional_id="x", topic_data=[data])
        assert node.call(request, 11).responses[0].partition_responses[0].error_code == 0

    def end(producer_id: int, *, commit: bool) -> None:
        topics = [WritableTxnMarkerTopic(name="jobs", partition_indexes=[0])]
        marker = WritableTxnMarker(producer_id=producer_id, producer_epoch=0, transaction_result=commit, topics=topics)
        node.call(WriteTxnMarkersRequest(markers=[marker]), 1)

    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S), serving(node) as group:
            group.configure("share.isolation.level", "read_committed")
            write("kept", 7)
            write("taken back", 8)
            group.produce(batch("plain", timestamp=now_ms))
            member = group.member()
            assert acquired(await member.fetch(max_wait_ms=100)) == []
            waiting = asyncio.create_task(member.fetch())
            end(8, commit=False)
            await asyncio.sleep(0.1)
            assert not waiting.done()
            end(7, commit=True)
            assert acquired(await waiting) == [(0, 0, 1), (2, 2, 1)]
            assert errors(await member.acknowledge((0, 0, [ACCEPT]), (2, 2, [ACCEPT]))) == [(0, 0)]
            assert group.coordinator.start_offset == 5  # nobody gets the markers

    asyncio.run(main())
    node.partitions.abandon()

"""The groups of a shard in service: who waits for the log, who is woken by time, and who is told that it is over."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_coordinator.core.classic.group import GroupState
from millstream_coordinator.core.classic.messages import JoinRequest, LeavingMember, SyncRequest, Ticket
from millstream_coordinator.core.classic.records import GroupRemoved, GroupStored
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit, commit, delete_group, expire
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share.messages import ShareHeartbeatRequest
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.groups.groups import Groups
from millstream_coordinator.shell.share_states.nodes import ShareStateNodes
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode

BARRIER = ShardClaimed(10_000, 0)
LIMITS = GroupLimits(initial_rebalance_delay_ms=0, session_timeout_min_ms=50)


class Log:
    """A journal that keeps what it is given, when the test lets it."""

    def __init__(self) -> None:
        self.records: list[ShardRecord] = []
        self.open = asyncio.Event()
        self.open.set()

    async def append(self, commands: Sequence[tuple[ShardRecord, ...]]) -> None:
        await self.open.wait()
        self.records += [record for command in commands for record in command]


def join(name: str, member_id: str = "", session_timeout_ms: int = 10_000) -> Callable[[Ticket], JoinRequest]:
    return lambda ticket: JoinRequest(
        ticket=ticket,
        member_id=member_id,
        new_member_id=name,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(MemberProtocol("range", b""),),
        requires_known_member_id=False,
    )


def sync(name: str, assignment: bytes = b"A") -> Callable[[Ticket], SyncRequest]:
    return lambda ticket: SyncRequest(ticket=ticket, member_id=name, generation=1, assignments=((name, assignment),))


def run(
    scenario: Callable[[Groups, Log], Any], image: Image | None = None, want_topic: Callable[[str], None] = print
) -> None:
    async def main() -> None:
        log = Log()
        known = image if image is not None else Image()
        world = RealWorld(SocketNetwork())
        clock = SteadyClock(world)
        replicated = Replicated[GroupShard, ShardRecord](GroupShard(LIMITS), log, clock.now_ms)
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            nobody = ShareStateNodes(
                Nodes(world, client_id="test"), lambda: known, Interest(), want_topic, timeout_ms=1_000
            )
            groups = Groups(replicated, clock, tasks, BARRIER, lambda: known, nobody)
            await scenario(groups, log)
            groups.close("the test is over")
            await replicated.stop(NotCommitted("the test is over"))

    asyncio.run(main())


def test_an_assignment_is_given_out_once_it_is_in_the_log() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        assert (await groups.join("g", join("m"))).generation == 1
        log.open.clear()
        synced = asyncio.ensure_future(groups.sync("g", sync("m")))
        await asyncio.sleep(0.05)
        assert not synced.done()
        assert groups.heartbeat("g", "m", 1, None) is ErrorCode.NONE
        log.open.set()
        assert (await synced).assignment == b"A"
        assert [type(record) for record in log.records] == [GroupStored]

    run(scenario)


def test_an_assignment_that_the_log_cannot_take_is_an_error_for_its_members_alone() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        await groups.join("g", join("m"))
        refused = await groups.sync("g", sync("m", bytes(COMMAND_BYTES_MAX)))
        assert refused.error is ErrorCode.UNKNOWN_SERVER_ERROR
        assert log.records == []
        assert (await groups.join("h", join("n"))).error is ErrorCode.NONE

    run(scenario)


def test_a_silent_member_is_gone_when_its_session_is_over_and_its_group_with_the_next_sweep() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        await groups.join("g", join("m", session_timeout_ms=60))
        for _ in range(100):
            if log.records:
                break
            await asyncio.sleep(0.01)
        assert groups.shard.state_of("g") is GroupState.EMPTY
        await groups.execute(lambda shard, now_ms: expire(shard, retention_ms=0, now_ms=now_ms))
        assert not groups.shard.knows("g")
        assert [type(record) for record in log.records] == [GroupStored, GroupRemoved]

    run(scenario)


def test_a_read_waits_for_a_barrier_begun_after_it() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        log.open.clear()
        read = asyncio.ensure_future(groups.read(lambda shard: len(shard.offsets)))
        await asyncio.sleep(0.02)
        assert not read.done()
        log.open.set()
        assert await read == 0
        assert log.records == [BARRIER]

    run(scenario)


def test_those_who_wait_when_the_shard_goes_are_told_so() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        await groups.join("g", join("a"))
        log.open.clear()
        waiting = [
            asyncio.ensure_future(groups.sync("g", sync("a"))),
            asyncio.ensure_future(groups.join("g", join("b"))),
            asyncio.ensure_future(groups.execute(lambda shard, now_ms: commit(shard, OTHER, now_ms))),
        ]
        await asyncio.sleep(0.02)
        groups.close("moved")
        await groups._replicated.stop(NotCommitted("moved"))
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        # The join of a second member ended the first one's sync already.
        assert [type(outcome).__name__ for outcome in outcomes] == ["SyncAnswer", "NotCommitted", "NotCommitted"]

    run(scenario)


def test_a_deleted_group_does_not_come_back_from_what_was_still_to_be_stored() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        await groups.join("g", join("m"))
        await groups.sync("g", sync("m"))
        await groups.leave("g", [LeavingMember("m")])
        assert groups.shard.state_of("g") is GroupState.EMPTY
        # The empty group's record is on its way to the log, in a task that has not begun.
        removal = await groups.execute(lambda shard, _: delete_group(shard, "g"))
        assert removal.error is ErrorCode.NONE
        await asyncio.sleep(0.02)
        replayed = GroupShard(LIMITS)
        for record in log.records:
            replayed.apply(record)
        assert not replayed.stored
        assert not groups.shard.knows("g")

    run(scenario)


def test_nothing_is_kept_of_groups_that_came_to_nothing() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        for number in range(200):
            answer = await groups.join(f"g{number}", join("m", member_id="stranger"))
            assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
        assert groups.shard.groups == {}

    run(scenario)


def test_a_commit_that_is_refused_writes_nothing() -> None:
    async def scenario(groups: Groups, log: Log) -> None:
        await groups.join("g", join("m"))
        assert await groups.execute(lambda shard, now_ms: commit(shard, OFFSET, now_ms)) is ErrorCode.UNKNOWN_MEMBER_ID
        assert await groups.execute(lambda shard, _: Decision((), 1)) == 1
        assert log.records == []

    run(scenario)


OTHER = CommitRequest(group_id="h", offsets=(OffsetToCommit(topic="t", partition=0, offset=1),))
OFFSET = CommitRequest(group_id="g", offsets=(OffsetToCommit(topic="t", partition=0, offset=1),))


def test_a_shard_that_goes_does_not_wait_for_share_state_to_begin() -> None:
    topic_id, nobody, epoch = UUID(int=1), NodeId(-1), LeaderEpoch(0)
    created = r.PartitionCreated(topic_id, 0, (NodeId(0),), (NodeId(0),), nobody, epoch, PartitionEpoch(0))
    image = Image.of([r.TopicCreated("t", topic_id, False), created], 0)
    wanted: list[str] = []

    async def scenario(groups: Groups, log: Log) -> None:
        joining = ShareHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, topics=("t",))
        heartbeat = asyncio.ensure_future(groups.shares.heartbeat(joining))
        while not wanted:  # nobody keeps share state: there is not even a topic for it  # noqa: ASYNC110
            await asyncio.sleep(0)
        groups.close("the test is over")
        assert (await heartbeat).assignment == frozenset()

    run(scenario, image, wanted.append)
    assert wanted == ["__share_group_state"]

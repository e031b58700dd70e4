"""A coordinator that lost its session, with real cores under virtual time: what it knew before is not told to anybody any more."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.coordinator_topics import CoordinatorTopic, CoordinatorTopics
from millstream_cluster.records import Endpoint
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.config import CoordinatorConfig
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_runtime.nodes.client import Client, ClientError
from millstream_runtime.properties import Properties
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    FindCoordinatorRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.join_group import JoinGroupRequestProtocol
from millstream_wire.messages.leave_group import MemberIdentity
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics

SESSION_MS = 3_000
ONE_PARTITION = CoordinatorTopics(offsets=CoordinatorTopic(partitions=1), transactions=CoordinatorTopic(partitions=1))
LOOK_AGAIN = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
GROUP, TOPICS = 0, 1
"""What FindCoordinator looks for: a group, or a transactional id."""


class Hosts:
    """A controller, a broker and two coordinators, each on a host of its own."""

    def __init__(self, directory: Path) -> None:
        self.random = random.Random(7)
        self.network = SimulatedNetwork(self.random, Conditions())
        self.worlds: dict[str, SimulatedWorld] = {}
        self.apps: dict[str, Any] = {}
        self._directory = directory

    async def start(self) -> None:
        await self.start_controller()
        controllers = (("controller", 9093),)
        broker = BrokerConfig(
            node_id=0,
            data_dir=self._directory / "b",
            controllers=controllers,
            listeners=(Endpoint("PLAINTEXT", "broker", 9092),),
            heartbeat_interval_ms=500,
            session_timeout_ms=SESSION_MS,
            coordinator_topics=ONE_PARTITION,
        )
        await self._run("broker", lambda world: BrokerApp(broker, world))
        for number in range(2):
            config = CoordinatorConfig(
                node_id=10_000 + number,
                controllers=controllers,
                listeners=(Endpoint("PLAINTEXT", f"coordinator-{number}", 9092),),
                heartbeat_interval_ms=500,
                session_timeout_ms=SESSION_MS,
                groups=GroupLimits(initial_rebalance_delay_ms=0),
            )
            config = replace(config, coordinator_topics=ONE_PARTITION)
            await self._run(f"coordinator-{number}", lambda world, config=config: CoordinatorApp(config, world))

        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        created = await self.ask("broker", CreateTopicsRequest(topics=[topic], timeout_ms=5_000))
        assert created.topics[0].error_code == ErrorCode.NONE

    async def start_controller(self) -> None:
        settings = {
            "controller.store": f"file:{self._directory / 'c'}",
            "listeners": "CONTROLLER://controller:9093",
            "broker.session.timeout.ms": str(SESSION_MS),
        }
        config = ControllerConfig.from_properties(Properties(settings))
        await self._run("controller", lambda world: ControllerApp(config, world))

    async def _run(self, host: str, make: Callable[[SimulatedWorld], Any]) -> None:
        world = self.worlds[host] = SimulatedWorld(self.network, host, self.random)
        app = self.apps[host] = make(world)
        world.start(app.run())
        async with asyncio.timeout(60):
            await app.ready.wait()

    def cut(self, host: str, *others: str) -> None:
        for other in others:
            self.network.cut(host, other)

    async def ask(self, host: str, request: Any, version: int | None = None) -> Any:
        """None if the host gives no answer."""
        world = SimulatedWorld(self.network, "client", self.random)
        try:
            client = await Client.connect(world, host, 9092, client_id="test")
        except ClientError:
            return None
        try:
            return await client.request(request, timeout_ms=8_000, version=version)
        except ClientError:
            return None
        finally:
            await client.close()

    async def coordinator_of(self, key: str, kind: int, *, other_than: str = "") -> str:
        async def found() -> str | None:
            answer = await self.ask("broker", FindCoordinatorRequest(key=key, key_type=kind), 3)
            usable = answer is not None and answer.error_code == ErrorCode.NONE and answer.host != other_than
            return answer.host if usable else None

        return await until(found)

    async def settled(self, host: str, request: Any, version: int | None = None) -> Any:
        """The answer, once it is none that says to look again."""

        async def given() -> Any:
            answer = await self.ask(host, request, version)
            return answer if answer is not None and error_of(answer) not in LOOK_AGAIN else None

        return await until(given)


async def until(find: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(120):
        while True:
            found = await find()
            if found is not None:
                return found
            await asyncio.sleep(0.05)


async def ended(task: "asyncio.Task[None]") -> None:
    """Stop what would go on for ever; if it failed, say how."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def error_of(answer: Any) -> ErrorCode:
    """Of the only thing that the request was about."""
    match answer:
        case OffsetCommitResponse():
            return ErrorCode(answer.topics[0].partitions[0].error_code)
        case OffsetFetchResponse():
            return ErrorCode(answer.groups[0].error_code)
        case DeleteGroupsResponse():
            return ErrorCode(answer.results[0].error_code)
        case _:
            return ErrorCode(answer.error_code)


def commit_of(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    return OffsetCommitRequest(group_id="simple", generation_id_or_member_epoch=-1, topics=topics)


OFFSETS = OffsetFetchRequest(
    groups=[
        OffsetFetchRequestGroup(
            group_id="simple", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])], member_epoch=-1
        )
    ]
)


def init(producer_id: int = -1, epoch: int = -1) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id="x", transaction_timeout_ms=60_000, producer_id=producer_id, producer_epoch=epoch
    )


async def joined(hosts: Hosts, host: str) -> str:
    """The id of the only member of a classic group, which has its assignment."""
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    member_id = (await hosts.settled(host, join, 3)).member_id
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id)
    assert (await hosts.settled(host, sync, 2)).error_code == ErrorCode.NONE
    return member_id


def simulate(scenario: Callable[[Hosts], Awaitable[None]], directory: Path) -> None:
    async def main() -> None:
        hosts = Hosts(directory)
        await hosts.start()
        try:
            await scenario(hosts)
        finally:
            for world in hosts.worlds.values():
                await world.kill()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


CUT = pytest.mark.parametrize(
    "unreachable", [("controller",), ("controller", "broker")], ids=["controller", "everybody"]
)
ASKED = pytest.mark.parametrize("asked_from", ["the cut", "the healing"])
"""What asks the log while the links are cut may find out by that: nobody may have asked before they heal."""


@CUT
@ASKED
@pytest.mark.parametrize("question", ["offsets", "heartbeat", "list"])
def test_a_coordinator_that_was_cut_off_for_ten_seconds_tells_nothing_of_before(
    tmp_path: Path, unreachable: tuple[str, ...], asked_from: str, question: str
) -> None:
    async def scenario(hosts: Hosts) -> None:
        old = await hosts.coordinator_of("simple", GROUP)
        await hosts.settled(old, commit_of(1), 8)
        member_id = await joined(hosts, old)
        cut_at = asyncio.get_running_loop().time()
        hosts.cut(old, *unreachable)
        new = await hosts.coordinator_of("simple", GROUP, other_than=old)
        await hosts.settled(new, commit_of(2), 8)
        leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member_id)])
        assert (await hosts.settled(new, leave, 3)).error_code == ErrorCode.NONE
        assert error_of(await hosts.settled(new, DeleteGroupsRequest(groups_names=["g"]), 2)) is ErrorCode.NONE
        if asked_from == "the cut":
            asking = asyncio.create_task(ask_what_is_stale(hosts, old, member_id, question))
        await asyncio.sleep(10 - (asyncio.get_running_loop().time() - cut_at))
        hosts.network.heal()
        if asked_from == "the healing":
            asking = asyncio.create_task(ask_what_is_stale(hosts, old, member_id, question))
        await asyncio.sleep(20)
        await ended(asking)
        found = await hosts.settled(await hosts.coordinator_of("simple", GROUP), OFFSETS, 8)
        assert found.groups[0].topics[0].partitions[0].committed_offset == 2

    simulate(scenario, tmp_path)


async def ask_what_is_stale(hosts: Hosts, old: str, member_id: str, question: str) -> None:
    """Ask the old coordinator for ever, and fail when it tells of offset 1 or of the group that is gone."""
    while True:
        match question:
            case "offsets":
                fetched = await hosts.ask(old, OFFSETS, 8)
                if fetched is not None and error_of(fetched) not in LOOK_AGAIN:
                    assert fetched.groups[0].topics[0].partitions[0].committed_offset == 2
            case "heartbeat":
                beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
                told = await hosts.ask(old, beat, 4)
                assert told is None or told.error_code in {*LOOK_AGAIN, ErrorCode.UNKNOWN_MEMBER_ID}
            case "list":
                listed = await hosts.ask(old, ListGroupsRequest(), 4)
                assert listed is None or "g" not in {group.group_id for group in listed.groups}
        await asyncio.sleep(0.005)


@CUT
@ASKED
def test_the_only_holder_of_a_transactional_id_is_never_told_that_it_is_fenced(
    tmp_path: Path, unreachable: tuple[str, ...], asked_from: str
) -> None:
    async def scenario(hosts: Hosts) -> None:
        old = await hosts.coordinator_of("x", TOPICS)
        given = await hosts.settled(old, init(), 4)
        assert given.error_code == ErrorCode.NONE
        cut_at = asyncio.get_running_loop().time()
        hosts.cut(old, *unreachable)
        new = await hosts.coordinator_of("x", TOPICS, other_than=old)
        given = await hosts.settled(new, init(given.producer_id, given.producer_epoch), 4)
        assert given.error_code == ErrorCode.NONE
        errors: list[ErrorCode] = []

        async def go_on() -> None:
            """The only producer of its id asks the coordinator that it knew first, with the epoch that it has now."""
            nonlocal given
            while True:
                answer = await hosts.ask(old, init(given.producer_id, given.producer_epoch), 4)
                if answer is not None:
                    errors.append(ErrorCode(answer.error_code))
                    if answer.error_code == ErrorCode.NONE:
                        given = answer
                await asyncio.sleep(0.005)

        if asked_from == "the cut":
            going_on = asyncio.create_task(go_on())
        await asyncio.sleep(10 - (asyncio.get_running_loop().time() - cut_at))
        hosts.network.heal()
        if asked_from == "the healing":
            going_on = asyncio.create_task(go_on())
        await asyncio.sleep(20)
        await ended(going_on)
        assert errors
        assert set(errors) <= LOOK_AGAIN | {ErrorCode.NONE}

    simulate(scenario, tmp_path)


def test_after_a_lost_session_a_shard_that_nobody_else_took_is_claimed_again_too(tmp_path: Path) -> None:
    async def scenario(hosts: Hosts) -> None:
        owner = await hosts.coordinator_of("simple", GROUP)
        await hosts.settled(owner, commit_of(1), 8)
        (shard,) = hosts.apps[owner]._shards.owned()
        before = shard._claimed
        (other,) = {"coordinator-0", "coordinator-1"} - {owner}
        await hosts.worlds[other].kill()
        hosts.cut(owner, "controller")
        await asyncio.sleep(40)
        assert shard._claimed == before
        hosts.network.heal()
        await asyncio.sleep(10)
        assert shard._claimed > before
        found = await hosts.settled(owner, OFFSETS, 8)
        assert found.groups[0].topics[0].partitions[0].committed_offset == 1

    simulate(scenario, tmp_path)


def test_groups_go_on_while_no_controller_answers_anybody(tmp_path: Path) -> None:
    async def scenario(hosts: Hosts) -> None:
        owner = await hosts.coordinator_of("g", GROUP)
        member_id = await joined(hosts, owner)
        (shard,) = hosts.apps[owner]._shards.owned()
        before = shard._claimed
        await hosts.worlds["controller"].kill()
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
        for offset in range(1, 21):  # far longer than a session
            await asyncio.sleep(1)
            committed = await hosts.ask(owner, commit_of(offset), 8)
            assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
            fetched = await hosts.ask(owner, OFFSETS, 8)
            assert fetched.groups[0].topics[0].partitions[0].committed_offset == offset
            assert (await hosts.ask(owner, beat, 4)).error_code == ErrorCode.NONE
            assert {group.group_id for group in (await hosts.ask(owner, ListGroupsRequest(), 4)).groups} >= {"g"}
        await hosts.start_controller()
        await asyncio.sleep(15)
        assert shard._claimed == before, "nobody was fenced, so nobody has to begin anew"
        owner = await hosts.coordinator_of("g", GROUP)
        assert (await hosts.settled(owner, beat, 4)).error_code == ErrorCode.NONE

    simulate(scenario, tmp_path)


def test_a_coordinator_that_is_cut_off_sends_its_clients_away_soon(tmp_path: Path) -> None:
    """They would wait there for offsets.commit.timeout.ms although another one has long had their group."""

    async def scenario(hosts: Hosts) -> None:
        hosts.network.conditions.slow_probability = 0.0
        old = await hosts.coordinator_of("simple", GROUP)
        await hosts.settled(old, commit_of(1), 8)
        hosts.cut(old, "controller", "broker", *({"coordinator-0", "coordinator-1"} - {old}))
        await hosts.coordinator_of("simple", GROUP, other_than=old)
        began = asyncio.get_running_loop().time()
        assert error_of(await hosts.ask(old, commit_of(2), 8)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert asyncio.get_running_loop().time() - began < 2.1

    simulate(scenario, tmp_path)


def test_coordinators_that_the_controller_cannot_reach_serve_on(tmp_path: Path) -> None:
    async def scenario(hosts: Hosts) -> None:
        owner = await hosts.coordinator_of("simple", GROUP)
        await hosts.settled(owner, commit_of(1), 8)
        hosts.cut("controller", "coordinator-0", "coordinator-1")
        for offset in range(2, 8):
            await asyncio.sleep(2)
            assert await hosts.coordinator_of("simple", GROUP) == owner
            assert error_of(await hosts.ask(owner, commit_of(offset), 8)) is ErrorCode.NONE
        hosts.network.heal()
        await asyncio.sleep(5)
        found = await hosts.settled(await hosts.coordinator_of("simple", GROUP), OFFSETS, 8)
        assert found.groups[0].topics[0].partitions[0].committed_offset == 7

    simulate(scenario, tmp_path)

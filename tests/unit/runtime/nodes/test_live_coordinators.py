"""Who asks for a coordinator in the moment in which one dies is told who comes after it."""

import asyncio
from typing import Any
from uuid import UUID

from millstream_cluster.ids import BrokerEpoch, NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.records import (
    ClusterCreated,
    Endpoint,
    MetadataRecord,
    NodeFenced,
    NodeRegistered,
    NodeUnfenced,
)
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.live_coordinators import BELIEVED_S, HELD_S, PROBE_TIMEOUT_S, LiveCoordinators
from millstream_runtime.serving.server import Server
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FindCoordinatorResponse

PORT = 9094
FIRST, SECOND = 10_001, 10_002


class Scene:
    """Two coordinators; the metadata names the first while it is not fenced, then the second once it is `assigned`."""

    def __init__(self, hosts: Any) -> None:
        self.hosts = hosts
        self.image = Image()
        self.interest = Interest()
        self.assigned = False
        self.learn(ClusterCreated("c"))
        for number in (FIRST, SECOND):
            endpoint = Endpoint("PLAINTEXT", f"host-{number}", PORT)
            epoch = BrokerEpoch(self.image.offset + 1)
            self.learn(NodeRegistered(NodeId(number), epoch, UUID(int=number), (endpoint,), None))
            self.learn(NodeUnfenced(NodeId(number), epoch))
        self.live = LiveCoordinators(hosts.world("asker"), lambda: self.image, self.interest)

    async def listen(self, *numbers: int) -> None:
        for number in numbers:
            host = f"host-{number}"
            await Server(host, {}, None, self.hosts.world(host)).listen(host, PORT)

    def learn(self, record: MetadataRecord) -> None:
        self.image.apply(record, Offset(self.image.offset + 1))
        self.interest.on_change()

    def fence(self, number: int) -> None:
        node = self.image.node(NodeId(number))
        assert node is not None
        self.learn(NodeFenced(node.node_id, node.epoch))

    def assign(self) -> None:
        self.assigned = True
        self.learn(ClusterCreated("c"))

    def answer(self) -> FindCoordinatorResponse:
        first = self.image.node(NodeId(FIRST))
        assert first is not None
        if not first.fenced:
            return FindCoordinatorResponse(node_id=FIRST)
        if self.assigned:
            return FindCoordinatorResponse(node_id=SECOND)
        return FindCoordinatorResponse(node_id=-1, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def asked(self) -> tuple[int, float]:
        """Who is named, and after how long."""
        began = asyncio.get_running_loop().time()
        answer = await self.live.find(self.answer)
        return answer.node_id, asyncio.get_running_loop().time() - began


def test_a_coordinator_that_is_there_is_named_at_once(simulated_hosts: Any) -> None:
    async def scenario() -> None:
        scene = Scene(simulated_hosts)
        await scene.listen(FIRST, SECOND)
        named, after_s = await scene.asked()
        assert named == FIRST
        assert after_s < PROBE_TIMEOUT_S

    simulated_hosts.run(scenario())


def test_a_dead_one_is_not_named_until_somebody_has_its_shard(simulated_hosts: Any) -> None:
    async def scenario() -> None:
        scene = Scene(simulated_hosts)
        await scene.listen(SECOND)
        asking = asyncio.ensure_future(scene.asked())
        await asyncio.sleep(0.1)
        scene.fence(FIRST)
        await asyncio.sleep(0.1)
        assert not asking.done()
        scene.assign()
        named, after_s = await asking
        assert named == SECOND
        assert 0.2 <= after_s < HELD_S

    simulated_hosts.run(scenario())


def test_nobody_is_held_for_longer_than_clients_wait_anyway(simulated_hosts: Any) -> None:
    async def scenario() -> None:
        scene = Scene(simulated_hosts)
        named, after_s = await scene.asked()
        assert (named, round(after_s, 2)) == (FIRST, HELD_S)
        scene.fence(FIRST)
        named, after_s = await scene.asked()
        assert (named, round(after_s, 2)) == (-1, HELD_S)
        scene.fence(SECOND)
        assert await scene.asked() == (-1, 0), "without any coordinator there is nothing to wait for"

    simulated_hosts.run(scenario())


def test_one_that_is_silent_is_named(simulated_hosts: Any) -> None:
    """It may be there, and only out of reach from here."""

    async def scenario() -> None:
        scene = Scene(simulated_hosts)
        await scene.listen(FIRST, SECOND)
        simulated_hosts.network.cut("asker", f"host-{FIRST}")
        named, after_s = await scene.asked()
        assert named == FIRST
        assert after_s <= PROBE_TIMEOUT_S + 0.01

    simulated_hosts.run(scenario())


def test_however_many_ask_a_coordinator_is_looked_for_once(simulated_hosts: Any) -> None:
    async def scenario() -> None:
        scene = Scene(simulated_hosts)
        await scene.listen(FIRST, SECOND)
        before = simulated_hosts.network.next_number()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(100):
                tasks.create_task(scene.asked())
        await scene.asked()
        assert simulated_hosts.network.next_number() == before + 2, "one connection between the two"
        await asyncio.sleep(BELIEVED_S)
        await scene.asked()
        assert simulated_hosts.network.next_number() == before + 4

    simulated_hosts.run(scenario())

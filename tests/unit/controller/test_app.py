"""Whole controllers under virtual time, with a directory they share and a network that can be cut."""

import asyncio
import random
import shutil
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

import pytest

from millstream_cluster.ids import NO_NODE
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_runtime.controllers import ControllerLink, ControllerUnavailable
from millstream_runtime.follower import Applied, MetadataDiverged, MetadataFollower
from millstream_runtime.properties import Properties
from millstream_runtime.registration import AdvertisedListener, NodeIdentity, Registration
from millstream_runtime.service import ServiceFailed
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    BrokerHeartbeatRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.describe_quorum import RequestPartitionData, RequestTopicData

TAKEOVER_MS = 6_000
HOSTS = ("c0", "c1", "c2")


class Machines:
    """Controllers on hosts c0, c1, c2 over one store, and a broker beside them."""

    def __init__(self, directory, seed: int = 1) -> None:
        self.directory = directory
        self.random = random.Random(seed)
        self.network = SimulatedNetwork(self.random, Conditions())
        self.worlds: dict[str, SimulatedWorld] = {}
        self.apps: dict[str, ControllerApp] = {}
        self.running: dict[str, asyncio.Task[None]] = {}

    async def start(self, number: int, **settings: str) -> ControllerApp:
        host = f"c{number}"
        values = {
            "node.id": str(number),
            "listeners": f"CONTROLLER://{host}:9093",
            "controller.store": f"file:{self.directory}",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        world = SimulatedWorld(self.network, host, self.random)
        app = ControllerApp(ControllerConfig.from_properties(Properties(values)), world)
        self.worlds[host], self.apps[host] = world, app
        running = self.running[host] = world.start(app.run())
        ready = asyncio.ensure_future(app.ready.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            await running
        return app

    async def active(self, *, not_on: str = "", within_s: float = 30.0) -> str:
        async with asyncio.timeout(within_s):
            while True:
                for host, app in self.apps.items():
                    if host != not_on and not self.worlds[host].killed and app.health().detail.startswith("active"):
                        return host
                await asyncio.sleep(0.05)

    def broker(self, node_id: int = 1, disk: int = 7, applied: Applied | None = None) -> "Broker":
        return Broker(self, node_id, disk, applied=applied)


class Broker:
    """What a broker is to controllers: it follows, registers and asks."""

    def __init__(
        self,
        machines: Machines,
        node_id: int,
        disk: int,
        bootstrap: Sequence[str] = HOSTS,
        applied: Applied | None = None,
    ) -> None:
        self.world = SimulatedWorld(machines.network, f"b{node_id}", machines.random)
        addresses = [(host, 9093) for host in bootstrap]
        self.link = ControllerLink(self.world, addresses, client_id=f"broker-{node_id}")
        self.follower = MetadataFollower(
            self.world, self.link, node_id=node_id, on_records=lambda *_: None, applied_before=applied
        )
        self.node_id = node_id
        self.disk = disk
        self.registration: Registration | None = None

    async def join(self) -> "Broker":
        self.running = self.world.start(self._run())
        async with asyncio.timeout(60):
            while self.registration is None or self.registration.fenced:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return self

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.follower.run())
            await self.follower.caught_up.wait()
            identity = NodeIdentity(
                self.node_id,
                self.follower.image.cluster_id or "",
                UUID(int=self.disk),
                (AdvertisedListener("PLAINTEXT", f"b{self.node_id}", 9092),),
            )
            self.registration = Registration(
                self.world,
                self.link,
                identity,
                heartbeat_interval_ms=2_000,
                session_timeout_ms=9_000,
                metadata_offset=lambda: self.follower.image.offset,
            )
            await self.registration.run()

    async def create(self, name: str, timeout_ms: int = 30_000) -> int:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        response = await self.link.request(CreateTopicsRequest(topics=[topic]), timeout_ms=timeout_ms)
        return response.topics[0].error_code

    async def sees(self, check, within_s: float = 30.0) -> None:
        async with asyncio.timeout(within_s):
            while not check(self.follower.image):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def run(scenario):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(scenario)


@pytest.fixture
def machines(tmp_path) -> Machines:
    return Machines(tmp_path / "store")


def test_the_first_is_active_the_second_stands_by_and_says_so(machines) -> None:
    async def scenario() -> None:
        first = await machines.start(0)
        second = await machines.start(1)
        assert first.health().detail == "active in epoch 1"
        assert second.health().detail == "standby of controller 20000"
        assert second.health().ready
        broker = await machines.broker().join()
        await asyncio.sleep(2)
        partitions = [RequestPartitionData(partition_index=0)]
        request = DescribeQuorumRequest(
            topics=[RequestTopicData(topic_name="__cluster_metadata", partitions=partitions)]
        )
        quorum = (await broker.link.request(request, timeout_ms=5_000)).topics[0].partitions[0]
        assert quorum.leader_id == 20_000
        assert [voter.replica_id for voter in quorum.current_voters] == [20_000, 20_001]
        assert [observer.replica_id for observer in quorum.observers] == [1]
        assert {voter.log_end_offset for voter in quorum.current_voters} == {quorum.high_watermark}

    run(scenario())


def test_kill_the_active_one_and_the_standby_goes_on_with_everything(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        assert await broker.create("before") == ErrorCode.NONE
        await machines.worlds["c0"].kill()
        began = asyncio.get_running_loop().time()
        assert await machines.active() == "c1"
        assert TAKEOVER_MS <= (asyncio.get_running_loop().time() - began) * 1000 <= 2 * TAKEOVER_MS
        assert await broker.create("after") == ErrorCode.NONE
        await broker.sees(lambda image: {"before", "after"} <= image.topics.keys())
        assert broker.follower.image.controller.epoch == 2
        await asyncio.sleep(20)
        assert not broker.follower.image.brokers[1].fenced
        assert broker.follower.image.partition("before", 0).leader == 1
        restarted = await machines.start(0)
        assert restarted.health().detail == "standby of controller 20001"

    run(scenario())


def test_a_restarted_controller_that_was_the_active_one_is_it_again_at_once(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        cluster = machines.apps["c0"]
        await machines.worlds["c0"].kill()
        began = asyncio.get_running_loop().time()
        await machines.start(0)
        assert asyncio.get_running_loop().time() - began < 1
        assert machines.apps["c0"].health().detail == "active in epoch 2"
        assert machines.apps["c0"] is not cluster
        await asyncio.sleep(10)
        assert machines.apps["c1"].health().detail == "standby of controller 20000"

    run(scenario())


def test_an_active_one_that_is_only_cut_off_from_its_standby_is_deposed_by_the_store(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        machines.network.cut("c0", "c1")
        assert await machines.active(not_on="c0") == "c1"
        for number in range(5):
            assert await broker.create(f"t{number}") == ErrorCode.NONE
        await asyncio.sleep(10)
        machines.network.heal()
        await asyncio.sleep(20)
        details = sorted(app.health().detail for app in machines.apps.values())
        assert len([detail for detail in details if detail.startswith("active")]) == 1
        await broker.sees(lambda image: len(image.topics) == 5)

    run(scenario())


def test_an_active_one_that_is_asked_to_stop_makes_way_at_once(machines) -> None:
    async def scenario() -> None:
        for number in range(3):
            await machines.start(number)
        broker = await machines.broker().join()
        await machines.worlds["c0"].stop()
        began = asyncio.get_running_loop().time()
        winner = await machines.active(not_on="c0")
        assert asyncio.get_running_loop().time() - began < 1
        assert await broker.create("after") == ErrorCode.NONE
        await machines.start(0)
        assert machines.apps["c0"].health().detail == f"standby of controller 2000{winner[1]}"

    run(scenario())


def test_who_knows_only_a_standby_is_sent_to_the_active_one(machines) -> None:
    """As behind one name for all controllers, whose connection stays with whichever it was."""

    async def scenario() -> None:
        for number in range(3):
            await machines.start(number)
        broker = await Broker(machines, 1, 7, bootstrap=["c1"]).join()
        assert await broker.create("by-c0") == ErrorCode.NONE
        await machines.worlds["c0"].stop()
        assert await broker.create("by-its-successor") == ErrorCode.NONE
        await machines.worlds["c2"].kill()
        assert await broker.create("by-c1") == ErrorCode.NONE
        await broker.sees(lambda image: len(image.topics) == 3)

    run(scenario())


def test_of_several_standbys_one_takes_over_and_the_others_follow_it(machines) -> None:
    async def scenario() -> None:
        for number in range(3):
            await machines.start(number)
        await machines.worlds["c0"].kill()
        winner = await machines.active()
        await asyncio.sleep(10)
        (loser,) = {"c1", "c2"} - {winner}
        assert machines.apps[loser].health().detail == f"standby of controller 2000{winner[1]}"

    run(scenario())


def test_a_silent_broker_loses_leadership_and_gets_it_back(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        watcher = await machines.broker(2).join()
        broker = await machines.broker(1).join()
        for number in range(4):
            await watcher.create(f"t{number}")
        await watcher.sees(lambda image: len(image.topics) == 4)
        led = [p.topic for p in watcher.follower.image.partitions() if p.leader == 1]
        assert led
        await broker.world.kill()
        began = asyncio.get_running_loop().time()
        await watcher.sees(lambda image: image.brokers[1].fenced)
        assert 6.9 <= asyncio.get_running_loop().time() - began <= 10
        assert all(watcher.follower.image.partition(topic, 0).leader == NO_NODE for topic in led)
        await machines.broker(1).join()
        await watcher.sees(lambda image: all(image.partition(topic, 0).leader == 1 for topic in led))

    run(scenario())


def test_a_request_while_nobody_is_active_waits_for_who_will_be(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        await machines.worlds["c0"].kill()
        assert await broker.create("meanwhile") == ErrorCode.NONE
        response = await broker.link.request(DeleteTopicsRequest(), timeout_ms=5_000)
        assert response.responses == []

    run(scenario())


def test_a_follower_that_is_far_behind_gets_a_snapshot(machines, monkeypatch) -> None:
    from millstream_controller.shell import file_store, metadata_log

    monkeypatch.setattr(metadata_log, "KEPT_BYTES_MAX", 0)
    monkeypatch.setattr(file_store.FileStore, "wants_snapshot", property(lambda store: True))

    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        for number in range(20):
            assert await broker.create(f"t{number}") == ErrorCode.NONE
        late = await machines.broker(2).join()
        await late.sees(lambda image: len(image.topics) == 20)
        late.follower.image.check()
        await broker.sees(lambda image: image.offset == late.follower.image.offset)
        assert broker.follower.image == late.follower.image
        await machines.worlds["c0"].kill()
        await machines.start(0)
        await broker.sees(lambda image: image.controller.epoch == 2)
        assert len(broker.follower.image.topics) == 20

    run(scenario())


def test_another_cluster_id_is_refused_in_one_line(machines) -> None:
    async def scenario() -> None:
        await machines.start(0, cluster_id="mine")
        await machines.worlds["c0"].kill()
        with pytest.raises(ServiceFailed, match=r"is of cluster mine, cluster\.id says other"):
            await machines.start(0, cluster_id="other")

    run(scenario())


def test_two_processes_of_one_id_do_not_depose_each_other_for_ever(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        twin = SimulatedWorld(machines.network, "twin", machines.random)
        values = {
            "node.id": "0",
            "listeners": "CONTROLLER://twin:9093",
            "controller.store": f"file:{machines.directory}",
        }
        app = ControllerApp(ControllerConfig.from_properties(Properties(values)), twin)
        twin.start(app.run())
        await app.ready.wait()
        with pytest.raises(ServiceFailed, match="another process is controller 20000 too, at twin:9093"):
            await machines.running["c0"]

    run(scenario())


def test_a_log_that_went_back_stops_the_controller(machines) -> None:
    """A node has applied what the log does not contain, and the log is not merely an older controller's view of it."""

    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        beat = BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=broker.registration.broker_epoch, current_metadata_offset=1_000
        )
        await broker.link.request(beat, timeout_ms=500)

    async def both() -> None:
        with suppress(ControllerUnavailable):
            await scenario()
        with pytest.raises(ServiceFailed, match="node 1 has metadata up to 1000, the log ends at"):
            await machines.running["c0"]

    run(both())


def test_a_port_in_use_is_one_clear_line(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        with pytest.raises(ServiceFailed, match="cannot listen on c0:9093"):
            await machines.start(0)

    run(scenario())


def test_a_log_that_went_back_and_grew_again_is_told_apart_by_its_epochs(machines, tmp_path) -> None:
    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        shutil.copytree(machines.directory, tmp_path / "backup")
        await machines.worlds["c0"].stop()
        await machines.start(0)
        assert await broker.create("lost") == ErrorCode.NONE
        await broker.sees(lambda image: "lost" in image.topics)
        known = broker.follower.image.offset
        machines.network.cut("c0", "b1")
        await machines.worlds["c0"].kill()
        shutil.rmtree(machines.directory)
        shutil.copytree(tmp_path / "backup", machines.directory)
        for _ in range(3):
            await machines.start(0)
            await machines.worlds["c0"].stop()
        await machines.start(0)
        assert await machines.active() == "c0"
        other = await machines.broker(2).join()
        while other.follower.image.offset <= known:
            await other.create(f"t{other.follower.image.offset}")
            await asyncio.sleep(0.5)
        machines.network.heal()
        with pytest.raises(BaseExceptionGroup) as failure:
            async with asyncio.timeout(120):
                await broker.running
        assert failure.group_contains(MetadataDiverged, match="another epoch")
        with pytest.raises(ServiceFailed, match="the metadata log went back"):
            await machines.running["c0"]

    run(scenario())


def test_a_log_that_went_back_is_not_followed_by_who_remembers_more(machines, tmp_path) -> None:
    """The broker was away when the store was put back, and comes with nothing but its note."""

    async def scenario() -> None:
        await machines.start(0)
        first = await machines.broker().join()
        shutil.copytree(machines.directory, tmp_path / "backup")
        assert await first.create("lost") == ErrorCode.NONE
        await first.sees(lambda image: "lost" in image.topics)
        applied = first.follower.applied
        await first.world.kill()
        await machines.worlds["c0"].kill()
        shutil.rmtree(machines.directory)
        shutil.copytree(tmp_path / "backup", machines.directory)
        await machines.start(0)
        again = machines.broker(applied=applied)
        running = again.world.start(again._run())
        with pytest.raises(
            ServiceFailed, match=r"the metadata log went back: node 1 has metadata up to \d+ of epoch 1"
        ):
            async with asyncio.timeout(60):
                await machines.running["c0"]
        assert again.follower.image.offset == -1
        running.cancel()

    run(scenario())


def test_a_log_that_contains_what_a_node_remembers_is_followed_also_past_a_snapshot(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        first = await machines.broker().join()
        early = first.follower.applied
        for number in range(5):
            assert await first.create(f"t{number}") == ErrorCode.NONE
        await first.sees(lambda image: "t4" in image.topics)
        late = first.follower.applied
        await first.world.kill()
        await machines.worlds["c0"].stop()
        await machines.start(0)
        for applied in (early, late):
            again = await machines.broker(applied=applied).join()
            assert "t4" in again.follower.image.topics
            await again.world.kill()

    run(scenario())


def test_a_node_of_another_cluster_stops_itself_and_nobody_else(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        stranger = machines.broker(applied=Applied(1_000, 9, "another-cluster"))
        with pytest.raises(BaseExceptionGroup) as failure:
            async with asyncio.timeout(60):
                await stranger.world.start(stranger._run())
        assert failure.group_contains(MetadataDiverged, match="belongs to cluster another-cluster")
        await machines.broker(2).join()

    run(scenario())

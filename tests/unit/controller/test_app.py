"""Whole controllers: who is active, who takes over, and what nodes see of that."""

import asyncio
from typing import Any

import pytest
from controller_machines import TAKEOVER_MS, Broker, run

from millstream_cluster.ids import NO_NODE
from millstream_cluster.records import ConfigChanged, ResourceType
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_controller.shell.active import Active
from millstream_controller.shell.batches import encode_records
from millstream_controller.shell.file_store import FileStore
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_runtime.properties import Properties
from millstream_runtime.service import ServiceFailed
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteTopicsRequest,
    DescribeQuorumRequest,
)
from millstream_wire.messages.describe_quorum import RequestPartitionData, RequestTopicData


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
        assert asyncio.get_running_loop().time() - began < 1
        assert await broker.create("after") == ErrorCode.NONE
        await broker.sees(lambda image: {"before", "after"} <= image.topics.keys())
        assert broker.follower.image.controller.epoch == 2
        await asyncio.sleep(20)
        assert not broker.follower.image.brokers[1].fenced
        assert broker.follower.image.partition("before", 0).leader == 1
        restarted = await machines.start(0)
        assert restarted.health().detail == "standby of controller 20001"

    run(scenario())


def test_an_active_one_of_which_nothing_is_heard_gets_its_time(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        await asyncio.sleep(1)
        for other in ("c1", "b1"):
            machines.network.cut("c0", other)
        began = asyncio.get_running_loop().time()
        assert await machines.active(not_on="c0") == "c1"
        assert TAKEOVER_MS <= (asyncio.get_running_loop().time() - began) * 1000 <= 2 * TAKEOVER_MS

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


def test_a_broker_that_dies_is_fenced_as_soon_as_nobody_listens_at_its_port(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        watcher = await machines.broker(2).join()
        broker = await machines.broker(1).join()
        await broker.world.kill()
        began = asyncio.get_running_loop().time()
        await watcher.sees(lambda image: image.brokers[1].fenced)
        assert asyncio.get_running_loop().time() - began < 1
        await machines.broker(1).join()
        assert not watcher.follower.image.brokers[2].fenced

    run(scenario())


def test_a_broker_that_dies_with_the_active_controller_is_fenced_with_the_takeover(machines) -> None:
    """Its connection to the next one cannot close: there never was one."""

    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        watcher = await machines.broker(2).join()
        broker = await machines.broker(1).join()
        await asyncio.gather(machines.worlds["c0"].kill(), broker.world.kill())
        await machines.active(not_on="c0")
        began = asyncio.get_running_loop().time()
        await watcher.sees(lambda image: image.brokers[1].fenced)
        assert asyncio.get_running_loop().time() - began < 1
        assert not watcher.follower.image.brokers[2].fenced

    run(scenario())


def test_a_broker_that_only_lost_its_connection_keeps_its_session(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        watcher = await machines.broker(2).join()
        broker = await machines.broker(1).join()
        epoch = broker.registration.broker_epoch
        await broker.registration._link.close()
        await asyncio.sleep(30)
        node = watcher.follower.image.brokers[1]
        assert (node.epoch, node.fenced) == (epoch, False)
        assert node.fenced_offset == epoch, "never fenced since it came"

    run(scenario())


def test_a_silent_broker_loses_leadership_and_gets_it_back(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        watcher = await machines.broker(2).join()
        await machines.broker(1).join()
        for number in range(4):
            await watcher.create(f"t{number}")
        await watcher.sees(lambda image: len(image.topics) == 4)
        led = [p.topic for p in watcher.follower.image.partitions() if p.leader == 1]
        assert led
        machines.network.conditions.slow_probability = 0.0
        machines.network.cut("b1", "c0")
        began = asyncio.get_running_loop().time()
        await watcher.sees(lambda image: image.brokers[1].fenced)
        assert 2.4 <= asyncio.get_running_loop().time() - began <= 3.1, (
            "a whole session after its last heartbeat, no more"
        )
        assert all(watcher.follower.image.partition(topic, 0).leader == NO_NODE for topic in led)
        machines.network.heal()
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


def test_what_the_life_before_wrote_late_is_no_process_of_the_same_id(machines, monkeypatch) -> None:
    """Seed 16: a request of a process that had stopped reached the API server after the next one had read the log."""

    async def scenario() -> None:
        await machines.start(0)
        await machines.worlds["c0"].kill()
        honest = Active.take_over
        late = iter([True])

        async def overtaken(self: Active, *arguments: Any, **named: Any) -> None:
            if next(late, False):
                store = FileStore(machines.directory, machines.worlds["c0"])
                log = MetadataLog(await store.load())
                await store.append(
                    encode_records(
                        [ConfigChanged(ResourceType.BROKER, "", "log.retention.ms", "1000")],
                        level=log.image.metadata_version,
                        base_offset=log.end_offset,
                        epoch=1,
                        timestamp_ms=0,
                        writer="the life before",
                    )
                )
            await honest(self, *arguments, **named)

        monkeypatch.setattr(Active, "take_over", overtaken)
        app = await machines.start(0)
        await machines.active()
        assert app.health().detail == "active in epoch 2"
        assert next(late, False) is False

    run(scenario())


def test_a_port_in_use_is_one_clear_line(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        with pytest.raises(ServiceFailed, match="cannot listen on c0:9093"):
            await machines.start(0)

    run(scenario())

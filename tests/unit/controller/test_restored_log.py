"""A metadata log that was put back to an older state, and nodes that remember more than it holds."""

import asyncio
import shutil
from contextlib import suppress

import pytest
from controller_machines import run

from millstream_runtime.nodes.controllers import ControllerUnavailable
from millstream_runtime.nodes.follower import Applied, MetadataDiverged
from millstream_runtime.service import ServiceFailed
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    BrokerHeartbeatRequest,
)


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

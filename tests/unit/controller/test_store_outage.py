"""Controllers and their nodes while a controller does not reach the store: who is believed, who is followed, what goes on."""

import asyncio

import pytest
from controller_machines import Machines, run, sound_api_server

from millstream_cluster.ids import METADATA_TOPIC_ID
from millstream_runtime.nodes.client import Client
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AllocateProducerIdsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    FetchRequest,
    FetchSnapshotRequest,
    MetadataRequest,
)
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.schema import Request

VERIFY_TIMEOUT_S = 4.0


@pytest.fixture
def machines(tmp_path) -> Machines:
    return Machines(tmp_path / "unused", api_server=sound_api_server())


def cut_off(machines: Machines, *hosts: str, cut: bool = True) -> None:
    """From the store; from nothing else."""
    for host in hosts:
        machines.api_server.access(host).cut = cut


def long_poll(offset: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset)
    topic = FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchRequest(max_wait_ms=10_000, min_bytes=1, topics=[topic])


async def answer_of(machines: Machines, host: str, message: Request):
    client = await Client.connect(
        SimulatedWorld(machines.network, "asking", machines.random), host, 9093, client_id="t"
    )
    try:
        return await client.request(message, timeout_ms=30_000)
    finally:
        await client.close()


def test_a_controller_that_cannot_verify_its_store_answers_nobody_until_it_has(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        epoch = broker.registration.broker_epoch
        beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch)
        assert (await answer_of(machines, "c0", beat)).error_code == ErrorCode.NONE
        cut_off(machines, "c0")
        await asyncio.sleep(VERIFY_TIMEOUT_S)
        for message in (
            FetchRequest(),
            FetchSnapshotRequest(),
            beat,
            BrokerRegistrationRequest(broker_id=2),
            AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch),
            MetadataRequest(),
        ):
            assert (await answer_of(machines, "c0", message)).error_code == ErrorCode.NOT_CONTROLLER, message
        assert machines.apps["c0"].health().detail == "the metadata store does not answer"
        cut_off(machines, "c0", cut=False)
        await asyncio.sleep(VERIFY_TIMEOUT_S)
        assert (await answer_of(machines, "c0", beat)).error_code == ErrorCode.NONE
        assert machines.apps["c0"].health().detail == "active in epoch 1"

    run(scenario())


def test_a_long_poll_that_outlives_the_proof_is_not_answered_from_old_state(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        await asyncio.sleep(1)
        cut_off(machines, "c0")
        request = long_poll(broker.follower.image.offset + 1)
        assert (await answer_of(machines, "c0", request)).error_code == ErrorCode.NOT_CONTROLLER

    run(scenario())


def test_an_append_that_waited_long_proves_nothing_of_the_time_since_it_began(machines) -> None:
    """Its slot was free when it was written, perhaps long ago: only its answer was waited for."""

    async def scenario() -> None:
        await machines.start(0)
        broker = await machines.broker().join()
        active = machines.apps["c0"].active
        machines.api_server.access("c0").lost_replies = 1.0
        creating = asyncio.ensure_future(broker.create("meanwhile", timeout_ms=60_000))
        await asyncio.sleep(20)
        machines.api_server.access("c0").lost_replies = 0.0
        while "meanwhile" not in active.log.image.topics:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert not active.verified
        await asyncio.sleep(VERIFY_TIMEOUT_S)
        assert active.verified
        creating.cancel()

    run(scenario())


def test_an_outage_of_the_store_for_all_deposes_and_fences_nobody(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        assert await broker.create("before") == ErrorCode.NONE
        await broker.sees(lambda image: "before" in image.topics)
        before = broker.follower.image.offset
        cut_off(machines, "c0", "c1")
        await asyncio.sleep(120)
        assert not broker.registration.fenced
        cut_off(machines, "c1", cut=False)
        await asyncio.sleep(1)
        cut_off(machines, "c0", cut=False)
        await asyncio.sleep(60)
        assert broker.follower.image.offset == before, "no election, no fencing: nothing happened"
        assert machines.apps["c0"].health().detail == "active in epoch 1"
        assert await broker.create("after") == ErrorCode.NONE

    run(scenario())


@pytest.mark.parametrize("store_lost_after_s", [4.0, 4.2])
def test_a_node_that_the_deposed_controller_keeps_is_not_fenced_by_the_next_one(
    machines, store_lost_after_s, caplog
) -> None:
    """The old one loses its standby and, only just before that takes over, the store: it is believed for some time yet."""

    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        machines.network.cut("c0", "c1")
        await asyncio.sleep(store_lost_after_s)
        cut_off(machines, "c0")
        assert await machines.active(not_on="c0") == "c1"
        await asyncio.sleep(10)
        assert broker.follower.image.controller.epoch == 2
        assert "session expired" not in caplog.text
        assert "session lost" not in caplog.text

    run(scenario())


def test_a_standby_takes_over_from_one_that_only_lost_the_store(machines) -> None:
    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        cut_off(machines, "c0")
        assert await machines.active(not_on="c0") == "c1"
        assert await broker.create("after") == ErrorCode.NONE
        await asyncio.sleep(30)
        assert not machines.apps["c1"].active.machine.image.nodes[1].fenced
        cut_off(machines, "c0", cut=False)
        await asyncio.sleep(10)
        assert machines.apps["c0"].health().detail == "standby of controller 20001"

    run(scenario())


def test_a_broker_finds_the_new_controller_although_the_old_one_answers(machines) -> None:
    """The old one has lost its store and its peer; the broker reaches both."""

    async def scenario() -> None:
        await machines.start(0)
        await machines.start(1)
        broker = await machines.broker().join()
        cut_off(machines, "c0")
        machines.network.cut("c0", "c1")
        assert await machines.active(not_on="c0") == "c1"
        await asyncio.sleep(10)
        elected = machines.apps["c1"].active
        assert not elected.machine.image.nodes[1].fenced
        assert broker.follower.image.controller.epoch == elected.epoch == 2
        before = elected.machine.image.offset
        await asyncio.sleep(50)
        assert elected.machine.image.offset == before, "it was never fenced in between"
        assert not broker.registration.fenced

    run(scenario())

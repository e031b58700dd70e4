"""The way to the controller, and registration, against small controllers that misbehave on request."""

import asyncio
from uuid import UUID

import pytest
from small_controllers import HANDLERS, PORT, Controller, create, link_of, start, until

from millstream_cluster.ids import BrokerEpoch, NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.records import (
    NodeFenced,
    NodeRegistered,
    NodeUnfenced,
)
from millstream_runtime.nodes.controllers import ControllerLink, ControllerUnavailable
from millstream_runtime.nodes.registration import (
    FENCED_HEARTBEAT_MS,
    AdvertisedListener,
    NodeIdentity,
    Registration,
    RegistrationRefused,
)
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import (
    CreateTopicsResponse,
)


def test_requests_find_the_active_controller(simulated_hosts) -> None:
    async def scenario() -> None:
        standby, active = Controller(active=False), Controller()
        link = link_of(simulated_hosts, [("nobody", PORT), *await start(simulated_hosts, standby, active)])
        await link.request(create("a"), timeout_ms=5_000)
        assert active.created == ["a"]
        active.active, standby.active = False, True
        await link.request(create("b"), timeout_ms=5_000)
        assert standby.created == ["b"]
        standby.active = False
        with pytest.raises(ControllerUnavailable, match=r"not the active controller|nobody listens"):
            await link.request(create("c"), timeout_ms=5_000)

    simulated_hosts.run(scenario())


def test_a_client_s_request_is_forwarded_and_answered_unchanged(simulated_hosts) -> None:
    async def scenario() -> None:
        standby, active = Controller(active=False), Controller()
        link = link_of(simulated_hosts, await start(simulated_hosts, standby, active))
        header = RequestHeader(api_key=ApiKey.CREATE_TOPICS, version=5, correlation_id=77, client_id="theirs")
        frame = encode_request_header(header) + encode(create("x"), 5)
        client = Connection(1, "10.0.0.7:4711", "PLAINTEXT")
        context = RequestContext(ApiKey.CREATE_TOPICS, 5, 77, "theirs", frame, client, 0)
        reply = await link.forward(context, timeout_ms=5_000)
        answer = b"".join(map(bytes, reply.parts))
        assert decode(CreateTopicsResponse, 5, answer[1:]).topics[0].name == "x"
        assert active.created == ["x"]

    simulated_hosts.run(scenario())


def registration_of(hosts, link: ControllerLink, offset=lambda: 1, on_session_lost=lambda: None) -> Registration:
    identity = NodeIdentity(1, "c", UUID(int=7), (AdvertisedListener("PLAINTEXT", "node", 9092),))
    return Registration(
        hosts.world("node"),
        link,
        identity,
        heartbeat_interval_ms=500,
        session_timeout_ms=3_000,
        metadata_offset=offset,
        on_session_lost=on_session_lost,
    )


def test_a_node_registers_heartbeats_and_leaves_when_it_may(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        offset = [0]
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: offset[0])
        running = asyncio.create_task(registration.run())
        await registration.registered.wait()
        assert registration.broker_epoch == 101
        await until(lambda: len(controller.heartbeats) > 3)
        assert registration.fenced
        offset[0] = 1
        await registration.unfenced.wait()
        await registration.leave(timeout_ms=5_000)
        assert controller.heartbeats[-1] == (101, True)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_node_that_makes_way_asks_once_and_serves_on_until_it_leaves(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link)
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        controller.may_stop = False
        for _ in range(2):
            assert await registration.make_way(timeout_ms=5_000), "it may not stop yet"
            asked = len(controller.heartbeats)
            assert controller.heartbeats[-1] == (101, True)
            await until(lambda asked=asked: len(controller.heartbeats) > asked + 2)
            assert not any(asks for _, asks in controller.heartbeats[asked:])
        controller.may_stop = True
        assert not await registration.make_way(timeout_ms=5_000), "nothing more to ask for"
        await registration.leave(timeout_ms=5_000)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_node_is_let_in_as_soon_as_it_is_settled(simulated_hosts) -> None:
    """Neither a heartbeat that is too early nor the interval of heartbeats is waited for."""

    async def scenario() -> None:
        controller = Controller()
        controller.lets_in_from = 101
        offset = [0]
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: offset[0])
        running = asyncio.create_task(registration.run())
        await registration.registered.wait()
        await asyncio.sleep(0.01)
        assert controller.heartbeats == []
        offset[0] = 100
        registration.on_settled()
        await asyncio.sleep(0.01)
        assert controller.heartbeats == []
        began = asyncio.get_running_loop().time()
        offset[0] = 101
        registration.on_settled()
        await registration.unfenced.wait()
        assert len(controller.heartbeats) == 1
        assert asyncio.get_running_loop().time() - began < FENCED_HEARTBEAT_MS / 1000 / 2
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_node_that_was_fenced_is_let_in_as_soon_as_it_has_applied_that(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        offset = [110]
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: offset[0])
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        controller.lets_in_from = 120
        registration.on_image(fenced_image(True, at=120, offset=121))
        assert registration.fenced
        sent = len(controller.heartbeats)
        began = asyncio.get_running_loop().time()
        offset[0] = 121
        registration.on_settled()
        registration.on_settled()
        await registration.unfenced.wait()
        assert len(controller.heartbeats) == sent + 1
        assert asyncio.get_running_loop().time() - began < FENCED_HEARTBEAT_MS / 1000 / 2
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def fenced_image(fenced: bool, *, at: int, offset: int) -> Image:
    """A cluster in which node 1 registered at 101, and was fenced or let in by the record at `at`."""
    image = Image()
    image.apply(NodeRegistered(NodeId(1), BrokerEpoch(101), UUID(int=7), (), None), 101)
    image.apply(NodeUnfenced(NodeId(1), BrokerEpoch(101)), 102)
    if fenced:
        image.apply(NodeFenced(NodeId(1), BrokerEpoch(101)), at)
    image.offset = Offset(offset)
    return image


@pytest.mark.parametrize("told_by", ["a heartbeat", "the metadata", "both", "a stale epoch"])
def test_a_node_is_told_once_that_its_session_is_lost(simulated_hosts, told_by: str) -> None:
    async def scenario() -> None:
        controller = Controller()
        lost: list[str] = []
        offset = [110]
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: offset[0], lambda: lost.append(told_by))
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        registration.on_image(fenced_image(False, at=0, offset=110))
        assert lost == []
        if told_by in ("a heartbeat", "both"):
            controller.lets_in_from = 120
            await until(lambda: registration.fenced)
        if told_by in ("the metadata", "both"):
            registration.on_image(fenced_image(True, at=120, offset=121))
        if told_by == "a stale epoch":
            controller.heartbeat_error = ErrorCode.STALE_BROKER_EPOCH
            await until(lambda: registration.fenced)
        assert lost == [told_by]
        assert registration.fenced
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_an_answer_from_before_the_fencing_lets_nobody_in(simulated_hosts) -> None:
    """The metadata was faster than the answer to a heartbeat that was sent before the node was fenced."""

    async def scenario() -> None:
        controller = Controller()
        offset = [110]
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: offset[0])
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        registration.on_image(fenced_image(True, at=120, offset=121))
        sent = len(controller.heartbeats)
        await until(lambda: len(controller.heartbeats) >= sent + 5)
        assert registration.fenced
        offset[0] = 121
        await registration.unfenced.wait()
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_the_leave_to_serve_may_come_before_its_record(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        lost: list[str] = []
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        registration = registration_of(simulated_hosts, link, lambda: 110, lambda: lost.append("lost"))
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        registration.on_image(fenced_image(True, at=105, offset=111))
        assert (registration.fenced, lost) == (False, [])
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


@pytest.mark.parametrize("controllers", ["gone", "none is active"])
def test_a_node_that_leaves_does_not_wait_long_where_no_controller_answers(
    simulated_hosts, controllers: str, caplog
) -> None:
    async def scenario() -> None:
        controller = Controller()
        server = Server("controller-0", HANDLERS, controller, simulated_hosts.world("controller-0"))
        await server.listen("controller-0", PORT)
        registration = registration_of(simulated_hosts, link_of(simulated_hosts, [("controller-0", PORT)]))
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        if controllers == "gone":
            await server.close()
        controller.active = False
        began = asyncio.get_running_loop().time()
        assert not await registration.make_way(timeout_ms=60_000)
        await registration.leave(timeout_ms=60_000)
        assert asyncio.get_running_loop().time() - began == pytest.approx(2, abs=0.1)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())
    assert "gave up node=1 reason=no_controller_answers" in caplog.text


@pytest.mark.parametrize("error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
def test_a_node_whose_epoch_is_stale_registers_again(simulated_hosts, error: ErrorCode) -> None:
    async def scenario() -> None:
        controller = Controller()
        registration = registration_of(
            simulated_hosts, link_of(simulated_hosts, await start(simulated_hosts, controller))
        )
        running = asyncio.create_task(registration.run())
        await registration.unfenced.wait()
        controller.heartbeat_error = error
        await until(lambda: controller.registrations >= 2)
        controller.heartbeat_error = ErrorCode.NONE
        await registration.unfenced.wait()
        assert registration.broker_epoch == 100 + controller.registrations
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_refused_registration_is_final_a_duplicate_only_after_a_while(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        link = link_of(simulated_hosts, await start(simulated_hosts, controller))
        controller.registration_error = ErrorCode.INCONSISTENT_CLUSTER_ID
        with pytest.raises(RegistrationRefused, match="INCONSISTENT_CLUSTER_ID"):
            await registration_of(simulated_hosts, link).run()
        controller.registration_error = ErrorCode.DUPLICATE_BROKER_REGISTRATION
        registration = registration_of(simulated_hosts, link)
        running = asyncio.create_task(registration.run())
        await asyncio.sleep(20)
        controller.registration_error = ErrorCode.NONE
        await registration.registered.wait()
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())

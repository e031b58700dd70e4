"""The way to the controller, registration and following, against small controllers that misbehave on request."""

import asyncio
import random
from uuid import UUID

import pytest

from millstream_cluster.ids import METADATA_TOPIC, METADATA_TOPIC_ID, BrokerEpoch, NodeId, Offset
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import (
    ClusterCreated,
    ControllerElected,
    MetadataRecord,
    NodeFenced,
    NodeRegistered,
    NodeUnfenced,
    TopicCreated,
    encode_record,
)
from millstream_runtime.nodes.controllers import ControllerLink, ControllerUnavailable
from millstream_runtime.nodes.follower import MetadataDiverged, MetadataFollower
from millstream_runtime.nodes.registration import (
    FENCED_HEARTBEAT_MS,
    AdvertisedListener,
    NodeIdentity,
    Registration,
    RegistrationRefused,
)
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicResult
from millstream_wire.messages.fetch import FetchableTopicResponse, PartitionData
from millstream_wire.messages.fetch_snapshot import ResponsePartitionSnapshot, ResponseTopicSnapshot, SnapshotId
from millstream_wire.records import Record, encode_batch

PORT = 9093


class Controller:
    """Remembers what it was asked; answers what it was told to."""

    def __init__(self, *, active: bool = True) -> None:
        self.active = active
        self.created: list[str] = []
        self.log: list[MetadataRecord] = []
        self.log_start = 0
        self.registrations = 0
        self.heartbeats: list[tuple[int, bool]] = []
        self.registration_error = ErrorCode.NONE
        self.heartbeat_error = ErrorCode.NONE
        self.lets_in_from = 1
        self.may_stop = True

    def error(self, otherwise: ErrorCode = ErrorCode.NONE) -> ErrorCode:
        return otherwise if self.active else ErrorCode.NOT_CONTROLLER


def create_topics(app: Controller, request, context) -> CreateTopicsResponse:
    if app.active:
        app.created += [topic.name for topic in request.topics]
    results = [CreatableTopicResult(name=topic.name, error_code=app.error()) for topic in request.topics]
    return CreateTopicsResponse(topics=results)


def register(app: Controller, request, context) -> BrokerRegistrationResponse:
    error = app.error(app.registration_error)
    if error is ErrorCode.NONE:
        app.registrations += 1
    return BrokerRegistrationResponse(error_code=error, broker_epoch=100 + app.registrations)


def heartbeat(app: Controller, request, context) -> BrokerHeartbeatResponse:
    error = app.error(app.heartbeat_error)
    app.heartbeats.append((request.broker_epoch, request.want_shut_down))
    return BrokerHeartbeatResponse(
        error_code=error,
        is_fenced=request.current_metadata_offset < app.lets_in_from,
        should_shut_down=request.want_shut_down and app.may_stop,
    )


def batch_of(records: list[MetadataRecord], base_offset: int) -> bytes:
    pairs = [encode_record(record, NEWEST) for record in records]
    return encode_batch([Record(0, 1, key, value) for key, value in pairs], base_offset=base_offset)


async def fetch(app: Controller, request, context) -> FetchResponse:
    position = request.topics[0].partitions[0].fetch_offset
    data = PartitionData(partition_index=0, error_code=app.error(), high_watermark=len(app.log))
    if app.active and not app.log_start <= position <= len(app.log):
        data.error_code, data.log_start_offset = ErrorCode.OFFSET_OUT_OF_RANGE, app.log_start
    elif position < len(app.log):
        data.records = batch_of(app.log[position:], position)
    else:
        await asyncio.sleep(0.2)
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])])


def fetch_snapshot(app: Controller, request, context) -> FetchSnapshotResponse:
    content = batch_of(app.log[: app.log_start], 0)
    asked = request.topics[0].partitions[0]
    part = ResponsePartitionSnapshot(
        snapshot_id=SnapshotId(end_offset=app.log_start, epoch=1),
        size=len(content),
        position=asked.position,
        unaligned_records=content[asked.position : asked.position + 50],
    )
    return FetchSnapshotResponse(topics=[ResponseTopicSnapshot(name=METADATA_TOPIC, partitions=[part])])


HANDLERS = {
    ApiKey.CREATE_TOPICS: serve(CreateTopicsRequest, create_topics),
    ApiKey.BROKER_REGISTRATION: serve(BrokerRegistrationRequest, register),
    ApiKey.BROKER_HEARTBEAT: serve(BrokerHeartbeatRequest, heartbeat),
    ApiKey.FETCH: serve(FetchRequest, fetch),
    ApiKey.FETCH_SNAPSHOT: serve(FetchSnapshotRequest, fetch_snapshot),
}


async def start(hosts, *controllers: Controller) -> list[tuple[str, int]]:
    addresses = []
    for number, controller in enumerate(controllers):
        name = f"controller-{number}"
        server = Server(name, HANDLERS, controller, hosts.world(name))
        await server.listen(name, PORT)
        addresses.append((name, PORT))
    return addresses


def link_of(hosts, addresses) -> ControllerLink:
    return ControllerLink(hosts.world("node"), addresses, client_id="node")


async def until(condition, timeout_s: float = 30) -> None:
    async with asyncio.timeout(timeout_s):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])


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


def records(count: int, prefix: str = "topic") -> list[MetadataRecord]:
    head: list[MetadataRecord] = [ClusterCreated("c"), ControllerElected(NodeId(20_000), 1, "h", 1)]  # type: ignore[arg-type]
    topics = [TopicCreated(f"{prefix}-{n}", UUID(int=n + 10), False) for n in range(count)]
    return [*head, *topics]


class Followed:
    def __init__(self, hosts, addresses) -> None:
        self.seen: list[MetadataRecord] = []
        self.follower = MetadataFollower(
            hosts.world("node"), link_of(hosts, addresses), node_id=1, on_records=self._note, max_wait_ms=200
        )

    def _note(self, image: Image, fresh) -> None:
        assert image is self.follower.image
        self.seen += fresh


def test_a_follower_applies_what_is_there_and_what_comes(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log = records(2)
        followed = Followed(simulated_hosts, await start(simulated_hosts, controller))
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.caught_up.wait()
        assert sorted(followed.follower.image.topics) == ["topic-0", "topic-1"]
        controller.log = records(5)
        await followed.follower.wait_for(6)
        assert followed.seen == controller.log
        assert followed.follower.image == Image.of(controller.log, 6)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_follower_behind_the_log_s_start_loads_the_snapshot(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log, controller.log_start = records(5), 4
        followed = Followed(simulated_hosts, await start(simulated_hosts, controller))
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.caught_up.wait()
        assert followed.follower.image == Image.of(controller.log, 6)
        assert followed.seen == controller.log
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())


def test_a_log_that_went_back_or_does_not_fit_stops_the_follower(simulated_hosts) -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.log = records(5)
        addresses = await start(simulated_hosts, controller)
        followed = Followed(simulated_hosts, addresses)
        running = asyncio.create_task(followed.follower.run())
        await followed.follower.wait_for(6)
        controller.log = records(3)
        with pytest.raises(MetadataDiverged, match="has less"):
            await running
        controller.log = [*records(3), TopicCreated("topic-0", UUID(int=99), False)]
        with pytest.raises(MetadataDiverged, match="the name is taken"):
            await Followed(simulated_hosts, addresses).follower.run()

    simulated_hosts.run(scenario())


def test_a_follower_survives_a_hostile_network(simulated_hosts) -> None:
    async def scenario() -> None:
        controllers = [Controller(active=False), Controller()]
        addresses = await start(simulated_hosts, *controllers)
        followed = Followed(simulated_hosts, addresses)
        running = asyncio.create_task(followed.follower.run())
        simulated_hosts.network.conditions.break_probability = 0.1
        rng = random.Random(5)
        for count in range(1, 30):
            for controller in controllers:
                controller.log = records(count)
            if rng.random() < 0.3:
                for controller in controllers:
                    controller.active = not controller.active
            await asyncio.sleep(rng.uniform(0, 1))
        await followed.follower.wait_for(30)
        assert followed.seen == records(29)
        running.cancel()
        await asyncio.wait([running])

    simulated_hosts.run(scenario())

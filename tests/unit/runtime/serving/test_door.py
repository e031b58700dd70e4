"""Two servers of one process behind one listener."""

import asyncio

import pytest

from millstream_cluster.records import Endpoint
from millstream_runtime.nodes.client import Client, Disconnected
from millstream_runtime.serving.api_versions import Identity
from millstream_runtime.serving.door import Door, always
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.listeners import advertise, listen_on
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
)

TIMEOUT_MS = 1_000
CLAIMS = {
    ApiKey.HEARTBEAT: always,
    ApiKey.LIST_GROUPS: always,
    ApiKey.INIT_PRODUCER_ID: lambda request: request.transactional_id is not None,
}


class Role:
    def __init__(self, number: int) -> None:
        self.number = number
        self.asked = asyncio.Event()


def metadata(role: Role, request: MetadataRequest, context: object) -> MetadataResponse:
    return MetadataResponse(controller_id=role.number)


def init_producer_id(role: Role, request: InitProducerIdRequest, context: object) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=role.number)


def refuse(role: Role, request: HeartbeatRequest, context: object) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)


async def heartbeat(role: Role, request: HeartbeatRequest, context: object) -> HeartbeatResponse:
    if request.group_id == "later":
        role.asked.set()
        await asyncio.Event().wait()
    return HeartbeatResponse(error_code=role.number)


def list_groups(role: Role, request: ListGroupsRequest, context: object) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=role.number)


BROKERS = {
    ApiKey.METADATA: serve(MetadataRequest, metadata),
    ApiKey.INIT_PRODUCER_ID: serve(InitProducerIdRequest, init_producer_id),
    ApiKey.HEARTBEAT: serve(HeartbeatRequest, refuse),
}
COORDINATORS = {
    ApiKey.METADATA: serve(MetadataRequest, metadata),
    ApiKey.INIT_PRODUCER_ID: serve(InitProducerIdRequest, init_producer_id),
    ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat),
    ApiKey.LIST_GROUPS: serve(ListGroupsRequest, list_groups),
}


class House:
    """A broker (1) that listens and a coordinator (7) that joins it."""

    def __init__(self, hosts) -> None:
        self.hosts = hosts
        world = hosts.world("server")
        self.door = Door()
        self.broker = Role(1)
        self.coordinator = Role(7)
        self.broker_server = Server("broker-1", BROKERS, self.broker, world, identity=lambda: _identity(1))
        self.coordinator_server = Server(
            "coordinator-7", COORDINATORS, self.coordinator, world, identity=lambda: _identity(7)
        )
        self.port = 0

    async def open(self) -> Client:
        listener = await self.broker_server.listen(self.hosts.address("server"), 0)
        self.port = listener.port
        self.door.open(self.broker_server, {"PLAINTEXT": (listener.host, listener.port)})
        return await self.client()

    async def client(self) -> Client:
        return await Client.connect(
            self.hosts.world("client"), self.hosts.address("server"), self.port, client_id="test"
        )


def _identity(node_id: int) -> Identity:
    return Identity("c", frozenset({node_id}))


async def answers(client: Client) -> list[int]:
    told = [
        (await client.request(MetadataRequest(topics=[]), timeout_ms=TIMEOUT_MS)).controller_id,
        (await client.request(InitProducerIdRequest(transactional_id=None), timeout_ms=TIMEOUT_MS)).producer_id,
        (await client.request(InitProducerIdRequest(transactional_id="x"), timeout_ms=TIMEOUT_MS)).producer_id,
        (await client.request(HeartbeatRequest(group_id="g"), timeout_ms=TIMEOUT_MS)).error_code,
    ]
    return [int(each) for each in told]


def test_who_joins_answers_its_own_requests_on_connections_that_were_there_before(hosts) -> None:
    async def scenario() -> None:
        house = House(hosts)
        client = await house.open()
        assert await answers(client) == [1, 1, 1, ErrorCode.NOT_COORDINATOR]
        joined = await house.door.join(house.coordinator_server, CLAIMS)
        assert joined["PLAINTEXT"][1] == house.port
        assert await answers(client) == [1, 1, 7, 7]
        house.door.leave()
        assert await answers(client) == [1, 1, 1, ErrorCode.NOT_COORDINATOR]
        await client.close()
        await house.broker_server.close()

    hosts.run(scenario())


def test_joining_waits_until_the_door_is_open(hosts) -> None:
    async def scenario() -> None:
        house = House(hosts)
        joining = asyncio.ensure_future(house.door.join(house.coordinator_server, CLAIMS))
        await asyncio.sleep(0.01)
        assert not joining.done()
        client = await house.open()
        await joining
        assert await answers(client) == [1, 1, 7, 7]
        await client.close()
        await house.broker_server.close()

    hosts.run(scenario())


def test_what_is_under_way_at_one_that_joined_ends_with_it(hosts) -> None:
    async def scenario() -> None:
        house = House(hosts)
        client = await house.open()
        await house.door.join(house.coordinator_server, CLAIMS)
        waiting = asyncio.ensure_future(client.request(HeartbeatRequest(group_id="later"), timeout_ms=10_000))
        await house.coordinator.asked.wait()
        house.door.leave()
        await house.coordinator_server.close()
        with pytest.raises(Disconnected):
            await waiting
        again = await house.client()
        assert await answers(again) == [1, 1, 1, ErrorCode.NOT_COORDINATOR]
        await again.close()
        await house.broker_server.close()

    hosts.run(scenario())


def test_either_node_may_be_meant(hosts) -> None:
    async def scenario() -> None:
        house = House(hosts)
        client = await house.open()
        await house.door.join(house.coordinator_server, CLAIMS)
        found = []
        for node_id in (1, 7, 8):
            request = ApiVersionsRequest(
                client_software_name="t", client_software_version="1", cluster_id="c", node_id=node_id
            )
            found.append((await client.request(request, timeout_ms=TIMEOUT_MS)).error_code)
        assert found == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.REBOOTSTRAP_REQUIRED]
        await client.close()
        await house.broker_server.close()

    hosts.run(scenario())


def test_a_process_reaches_itself_where_it_listens_whatever_is_advertised(hosts) -> None:
    async def scenario() -> None:
        world = hosts.world("server")
        server = Server("broker-1", BROKERS, Role(1), world)
        listening = await listen_on(server, [Endpoint("PLAINTEXT", hosts.address("server"), 0)])
        told = advertise(world, listening, [Endpoint("PLAINTEXT", "only.outside.example", 19092)])
        assert [(each.host, each.port) for each in told] == [("only.outside.example", 19092)]
        client = await Client.connect(world, "only.outside.example", 19092, client_id="test")
        assert (await client.request(MetadataRequest(topics=[]), timeout_ms=TIMEOUT_MS)).controller_id == 1
        await client.close()
        await server.close()

    hosts.run(scenario())

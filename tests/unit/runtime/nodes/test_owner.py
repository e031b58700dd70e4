"""Asking the owner of a shard: found by the metadata of the moment, and a definite error where there is nobody to ask."""

import asyncio
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.owner import Owners
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse

TOPIC_ID = UUID(int=7)
OWNER = NodeId(10_001)
REQUEST = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def image_of(*, fenced: bool) -> Image:
    node = NodeId(0)
    records: list[r.MetadataRecord] = [
        r.TopicCreated("t", TOPIC_ID, True),
        r.PartitionCreated(TOPIC_ID, 0, (node,), (node,), node, LeaderEpoch(0), PartitionEpoch(0)),
        r.NodeRegistered(OWNER, BrokerEpoch(2), UUID(int=1), (r.Endpoint("PLAINTEXT", "owner", 9092),), None),
    ]
    if not fenced:
        records.append(r.NodeUnfenced(OWNER, BrokerEpoch(2)))
    return Image.of(records, 5)


def answer_heartbeat(app: object, request: HeartbeatRequest, context: object) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)


def test_a_live_node_is_asked_and_a_fenced_or_silent_one_is_a_definite_error(simulated_hosts) -> None:
    async def scenario() -> None:
        nodes = Nodes(simulated_hosts.world("asker"), client_id="test")
        image = image_of(fenced=False)
        interest = Interest()
        owners = Owners(nodes, lambda: image, interest)
        assert await owners.ask(OWNER, REQUEST, timeout_ms=500) is ErrorCode.NETWORK_EXCEPTION
        server = Server(
            "owner",
            {ApiKey.HEARTBEAT: serve(HeartbeatRequest, answer_heartbeat)},
            object(),
            simulated_hosts.world("owner"),
        )
        await server.listen("owner", 9092)
        answer = await owners.ask(OWNER, REQUEST, timeout_ms=5_000)
        assert isinstance(answer, HeartbeatResponse)
        assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
        image = image_of(fenced=True)
        assert await owners.ask(OWNER, REQUEST, timeout_ms=500) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await owners.ask(None, REQUEST, timeout_ms=500) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        await nodes.close()
        await server.close()

    simulated_hosts.run(scenario())


def test_nobody_owns_what_is_in_no_topic_or_in_no_shard(simulated_hosts) -> None:
    owners = Owners(Nodes(simulated_hosts.world("asker"), client_id="test"), lambda: image_of(fenced=False), Interest())
    assert owners.of_key("missing", "g") is None
    assert owners.of_key("t", "g") is None


def test_a_silent_node_is_given_up_when_the_metadata_fences_it(simulated_hosts) -> None:
    async def scenario() -> None:
        asker = simulated_hosts.world("asker")
        nodes = Nodes(asker, client_id="test")
        image, interest = image_of(fenced=False), Interest()
        owners = Owners(nodes, lambda: image, interest)
        server = Server(
            "owner",
            {ApiKey.HEARTBEAT: serve(HeartbeatRequest, lambda app, request, context: asyncio.Future())},
            object(),
            simulated_hosts.world("owner"),
        )
        await server.listen("owner", 9092)
        began_ms = asker.monotonic_ms()
        asking = asyncio.create_task(owners.ask(OWNER, REQUEST, timeout_ms=60_000))
        await asyncio.sleep(1)
        assert not asking.done()
        image = image_of(fenced=True)
        interest.on_change()
        assert await asking is ErrorCode.NETWORK_EXCEPTION
        assert asker.monotonic_ms() - began_ms < 2_000
        await nodes.close()
        await server.close()

    simulated_hosts.run(scenario())

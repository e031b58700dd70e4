"""What only nodes may ask of a controller: a client that may not act for the cluster is told so and changes nothing."""

import asyncio
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_runtime.nodes.client import Client
from millstream_runtime.properties import Properties
from millstream_runtime.serving.authorization import STANDARD_AUTHORIZER
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import fetch
from millstream_wire.schema import Request

NODES_ONLY: list[Request[Any]] = [
    m.BrokerRegistrationRequest(broker_id=1, cluster_id="c", incarnation_id=UUID(int=1)),
    m.BrokerHeartbeatRequest(broker_id=1, broker_epoch=1),
    m.AlterPartitionRequest(broker_id=1, broker_epoch=1),
    m.AllocateProducerIdsRequest(broker_id=1, broker_epoch=1),
    m.AssignReplicasToDirsRequest(broker_id=1, broker_epoch=1),
    m.FetchSnapshotRequest(),
    m.FetchRequest(topics=[fetch.FetchTopic(topic="__cluster_metadata", partitions=[fetch.FetchPartition()])]),
    m.InitProducerIdRequest(transactional_id="__consumer_offsets-0"),
    m.EnvelopeRequest(request_data=b"", client_host_address=b""),
]
BROKER = NodeId(1)
CLOSED = {"authorizer.class.name": STANDARD_AUTHORIZER}


def answers(directory: Path, *, node_id: NodeId = NO_NODE, **settings: str) -> list[int]:
    async def body() -> list[int]:
        seed = random.Random(1)
        network = SimulatedNetwork(seed, Conditions())
        values = {"listeners": "CONTROLLER://c:9093", "controller.store": f"file:{directory}", **settings}
        world = SimulatedWorld(network, "c", seed)
        app = ControllerApp(ControllerConfig.from_properties(Properties(values)), world)
        world.start(app.run())
        await app.ready.wait()
        client = await Client.connect(
            SimulatedWorld(network, "client", seed), "c", 9093, client_id="x", node_id=node_id
        )
        return [int((await client.request(each, timeout_ms=10_000)).error_code) for each in NODES_ONLY]

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(body())


def test_a_client_is_no_node(tmp_path: Path) -> None:
    assert answers(tmp_path, **CLOSED) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * len(NODES_ONLY)


def test_on_a_plain_listener_a_nodes_word_is_not_believed_where_there_are_rights(tmp_path: Path) -> None:
    assert answers(tmp_path, node_id=BROKER, **CLOSED) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * len(NODES_ONLY)


@pytest.mark.parametrize("settings", [{**CLOSED, "super.users": "User:ANONYMOUS"}, {}], ids=["closed", "open"])
def test_a_node_is_answered(tmp_path: Path, settings: dict[str, str]) -> None:
    told = dict(zip(map(type, NODES_ONLY), answers(tmp_path, node_id=BROKER, **settings), strict=True))
    assert told.pop(m.InitProducerIdRequest) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "it is no coordinator"
    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED not in told.values()


def test_a_super_user_may_act_for_the_cluster(tmp_path: Path) -> None:
    told = answers(tmp_path, **CLOSED, **{"super.users": "User:ANONYMOUS;User:admin"})
    for_nodes_themselves = [m.AlterPartitionRequest, m.InitProducerIdRequest, m.EnvelopeRequest]
    refused = [type(each) for each, code in zip(NODES_ONLY, told, strict=True) if code == 31]
    assert refused == for_nodes_themselves

"""Automatic topic creation does not depend on which node a client happens to ask."""

import asyncio

from confluent_kafka.admin import AdminClient

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import MetadataRequest
from millstream_wire.messages.metadata import MetadataRequestTopic

TIMEOUT_S = 30
ATTEMPTS = 100


def test_every_node_of_the_metadata_has_missing_topics_created(bootstrap: str, topic: str) -> None:
    nodes = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=TIMEOUT_S).brokers
    assert nodes
    for node in nodes.values():
        assert asyncio.run(created_by_asking(node.host, node.port, f"{topic}-{node.id}"))


async def created_by_asking(host: str, port: int, topic: str) -> bool:
    client = await Client.connect(RealWorld(SocketNetwork()), host, port, client_id="test")
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
    try:
        for _ in range(ATTEMPTS):
            answer = await client.request(request, timeout_ms=TIMEOUT_S * 1000)
            if answer.topics[0].error_code == ErrorCode.NONE:
                return True
            await asyncio.sleep(0.1)
        return False
    finally:
        await client.close()

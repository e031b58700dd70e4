"""A broker without its network: real replicas in a directory, a hand-built Image, handlers called as the server would."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from millstream_broker.api import HANDLERS
from millstream_broker.config import BrokerConfig
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.applied_metadata import AppliedMetadata
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.hosting import Hosting
from millstream_broker.shell.partition.open_log_dirs import open_log_dirs
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_broker.shell.partition.spare_room import SpareRoom
from millstream_cluster import records as r
from millstream_cluster.acls import EVERYBODY, Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.ids import BrokerEpoch, ControllerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_log.disk import DISK, Disk
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.awaited import awaited
from millstream_runtime.serving.context import Connection, Deferred, RawReply, RequestContext
from millstream_runtime.serving.peer import ANONYMOUS_CLIENT, Peer
from millstream_runtime.world import RealWorld
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode, encode_parts
from millstream_wire.header import decode_response_header
from millstream_wire.records import Record, decode_batches, encode_batch

NODE_ID = 1


class TestBroker:
    """Node 1 of a cluster; `requests` travel through the codec in both directions."""

    __test__ = False

    def __init__(self, data_dir: Path, disk: Disk = DISK, **settings: Any) -> None:
        self.config = BrokerConfig(node_id=NODE_ID, data_dir=data_dir, controllers=(("127.0.0.1", 1),), **settings)
        self.world = RealWorld(SocketNetwork())
        self.image = Image()
        self.delays = Delays(self.world)
        self.directories = open_log_dirs(
            self.config.data_dirs,
            node_id=NODE_ID,
            cluster_id="cluster-1",
            new_id=uuid4,
            disk=disk,
            generator=random.Random(1),
        )
        self.partitions = HostedPartitions(self.directories, self.delays, self.world, node_id=NODE_ID)
        self.applied = AppliedMetadata(self.directories)
        self.hosting = Hosting(
            self.config, self.partitions, self.applied, SpareRoom(self.partitions, lambda _: (1000, 500))
        )
        self.partitions.load(self.applied.places)
        self.broker = Broker(
            self.config,
            self.world,
            ControllerLink(self.world, self.config.controllers, client_id="test"),
            self.partitions,
            self.delays,
            image=lambda: self.image,
            log_dir_space=lambda _: (1000, 500),
        )
        self._topic_ids = count(1000)
        self.authorizer: Authorizer | None = None
        """Who is asked what clients may do; None: everything."""
        elected = r.ControllerElected(NodeId(20_000), ControllerEpoch(1), "c", 1)
        self.learn(r.ClusterCreated("cluster-1"), elected, *live_broker(NODE_ID), *live_broker(2))

    def close(self) -> None:
        """Have ACLs say what clients may do from here on."""
        self.authorizer = Authorizer(AuthorizerConfig(), lambda: self.image.acls)

    def grant(self, operation: AclOperation, name: str, resource: AclResource = AclResource.TOPIC) -> UUID:
        """To everybody; its id, by which it can be taken away."""
        acl_id = UUID(int=next(self._topic_ids))
        acl = Acl(resource, AclPattern.LITERAL, name, EVERYBODY, "*", operation, AclPermission.ALLOW)
        self.learn(r.AclAdded.of(acl_id, acl))
        return acl_id

    def learn(self, *records: r.MetadataRecord) -> None:
        for record in records:
            self.image.apply(record, self.image.offset + 1)
        self.hosting.on_records(self.image, records)
        if self.hosting.serves:
            self.broker.on_image(self.image)

    def start(self) -> None:
        """The metadata is known and proven from here on."""
        self.hosting.start(self.image)
        self.broker.on_image(self.image)

    def create_topic(self, name: str, *, partitions: int = 1, leader: int = NODE_ID, **configs: str) -> UUID:
        topic_id = UUID(int=next(self._topic_ids))
        nodes = (NodeId(leader),)
        self.learn(
            r.TopicCreated(name, topic_id, name.startswith("__")),
            *(
                r.PartitionCreated(topic_id, index, nodes, nodes, NodeId(leader), LeaderEpoch(3), PartitionEpoch(0))
                for index in range(partitions)
            ),
            *(
                r.ConfigChanged(r.ResourceType.TOPIC, name, key.replace("_", "."), value)
                for key, value in configs.items()
            ),
        )
        return topic_id

    def replica(self, topic: str, index: int = 0) -> HostedPartition:
        replica = self.partitions.find(topic, index)
        assert replica is not None
        return replica

    def call(
        self, request: Any, version: int, *, peer: Peer = ANONYMOUS_CLIENT, client_id: str | None = "client"
    ) -> Any:
        """The handler's reply as the client reads it; a future is returned as it is, for `as_read`."""
        reply = self._handle(request, version, client_id, peer)
        return reply if reply is None or asyncio.isfuture(reply) else as_read(request.api_key, reply, version)

    def as_read(self, api_key: int, reply: Any, version: int) -> Any:
        return as_read(api_key, reply, version)

    async def call_async(self, request: Any, version: int) -> Any:
        return as_read(request.api_key, await self._handle(request, version, "client"), version)

    def _handle(self, request: Any, version: int, client_id: str | None, peer: Peer = ANONYMOUS_CLIENT) -> Any:
        api_key = ApiKey(request.api_key)
        encoded = encode(request, version)
        request = decode(type(request), version, memoryview(bytearray(encoded)))
        context = RequestContext(
            api_key,
            version,
            7,
            client_id,
            encoded,
            Connection(1, "127.0.0.1:5", "PLAINTEXT", peer=peer, authorizer=self.authorizer),
            self.world.monotonic_ms(),
        )
        handler = HANDLERS[api_key]
        reply = None
        if handler.shortcut is not None:
            reply = handler.shortcut(self.broker, memoryview(bytearray(encoded)), 0, context)
        if reply is None:
            reply = handler.handle(self.broker, request, context)
        return awaited(reply) if isinstance(reply, Deferred) else reply


def as_read(api_key: int, reply: Any, version: int) -> Any:
    """As the client reads a message, a raw reply (which begins behind the correlation id), or the bytes of a whole answer."""
    if isinstance(reply, bytes | RawReply):
        content = reply if isinstance(reply, bytes) else bytes(4) + joined(reply.parts)
        _, position = decode_response_header(api_key, version, content)
        return decode(API[ApiKey(api_key)].response, version, content, position)
    return decode(type(reply), version, joined(encode_parts(reply, version)))


def joined(parts: Sequence[Any]) -> bytes:
    return b"".join(part if isinstance(part, bytes | memoryview) else part.read() for part in parts)


def live_broker(node_id: int) -> Sequence[r.MetadataRecord]:
    endpoint = r.Endpoint("PLAINTEXT", f"host-{node_id}", 9092)
    return (
        r.NodeRegistered(NodeId(node_id), BrokerEpoch(node_id), UUID(int=node_id), (endpoint,), None),
        r.NodeUnfenced(NodeId(node_id), BrokerEpoch(node_id)),
    )


@pytest.fixture
def node(tmp_path: Path) -> Iterator[TestBroker]:
    broker = TestBroker(tmp_path / "data")
    broker.start()
    yield broker
    broker.partitions.abandon()


@pytest.fixture
def new_broker() -> type[TestBroker]:
    return TestBroker


@pytest.fixture
def batch() -> Any:
    """Make a batch of records with these values."""

    def make(*values: str | None, timestamp: int = 1_000, key: bytes | None = None, **options: Any) -> bytes:
        records = [
            Record(offset=index, timestamp=timestamp, key=key, value=None if value is None else value.encode())
            for index, value in enumerate(values)
        ]
        return encode_batch(records, **options)

    return make


@pytest.fixture
def values() -> Any:
    """(offset, value) of every record in a fetched records field."""
    return lambda data: [(record.offset, (record.value or b"").decode()) for record in decode_batches(data)]

"""Quotas on the data path: told in the answer, and the client is not read meanwhile."""

import pytest

from millstream_broker.api import HANDLERS
from millstream_cluster.ids import NodeId, Role
from millstream_cluster.principal import Principal
from millstream_cluster.records import ClientQuotaChanged, QuotaEntity, QuotaEntityType
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.peer import ClientPeer, NodePeer
from millstream_wire.api import ApiKey
from millstream_wire.codec import encode
from millstream_wire.messages import FetchRequest, ProduceRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData

EVERYBODY = (QuotaEntity(QuotaEntityType.CLIENT_ID, None),)


class Muted:
    """Handlers called over one connection that notes for how long it was muted."""

    def __init__(self, node) -> None:
        self.node = node
        self.muted_ms: list[int] = []
        self.connection = Connection(1, "127.0.0.1:5", "PLAINTEXT", mute=self.muted_ms.append)

    def call(self, request, version: int, client_id: str = "c"):
        context = RequestContext(
            ApiKey(request.api_key), version, 7, client_id, encode(request, version), self.connection, 0
        )
        return HANDLERS[context.api_key].handle(self.node.broker, request, context)


def produce(batch, topic: str = "t", acks: int = -1, count: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=memoryview(bytearray(batch("x" * 10_000)))) for _ in range(count)]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


@pytest.fixture
def muted(node):
    node.create_topic("t")
    node.create_topic("__consumer_offsets")
    return Muted(node)


def limit(node, key: str, value: float | None) -> None:
    node.learn(ClientQuotaChanged(EVERYBODY, key, value))


@pytest.mark.parametrize("version", [3, 12])
@pytest.mark.parametrize("count", [1, 2])
def test_a_producer_over_its_rate_is_told_to_wait_and_not_read(node, muted, batch, version: int, count: int) -> None:
    limit(node, "producer_byte_rate", 500.0)
    reply = muted.call(produce(batch, count=count), version)
    (told_ms,) = muted.muted_ms
    assert 9_000 < told_ms <= 31_000
    assert reply.throttle_time_ms == told_ms
    limit(node, "producer_byte_rate", None)
    muted.call(produce(batch), version)
    assert len(muted.muted_ms) == 1


def test_who_wants_no_answer_is_held_back_too(node, muted, batch) -> None:
    limit(node, "producer_byte_rate", 500.0)
    assert muted.call(produce(batch, acks=0), 12) is None
    assert len(muted.muted_ms) == 1


def test_what_nodes_send_is_nobodys_quota(node, muted, batch) -> None:
    limit(node, "producer_byte_rate", 500.0)
    muted.connection.peer = NodePeer(Role.COORDINATOR, NodeId(10_001))
    muted.call(produce(batch, "__consumer_offsets"), 12)
    assert not muted.muted_ms


def test_a_quota_is_that_of_the_principal_and_the_client_id(node, muted, batch) -> None:
    of_alice = (QuotaEntity(QuotaEntityType.USER, "alice"), QuotaEntity(QuotaEntityType.CLIENT_ID, "c"))
    node.learn(ClientQuotaChanged(of_alice, "producer_byte_rate", 500.0))
    muted.call(produce(batch), 12)
    assert not muted.muted_ms, "the anonymous have none"
    muted.connection.peer = ClientPeer(Principal("User", "alice"))
    muted.call(produce(batch), 12, "another")
    assert not muted.muted_ms
    muted.call(produce(batch), 12, "c")
    assert len(muted.muted_ms) == 1


def test_a_consumer_gets_no_more_than_its_windows_allow_and_waits_after_it(node, muted, batch, values) -> None:
    for _ in range(5):
        node.call(produce(batch), 12)
    limit(node, "consumer_byte_rate", 1_100.0)
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic(topic="t", partitions=[wanted])]
    )
    sizes = []
    for _ in range(2):
        reply = muted.call(request, 12)
        records = reply.responses[0].partitions[0].records
        sizes.append(len(records))
        records.release()
    assert sizes == [sizes[0]] * 2
    assert 10_000 < sizes[0] < 20_000
    (told_ms,) = muted.muted_ms
    assert reply.throttle_time_ms == told_ms > 0

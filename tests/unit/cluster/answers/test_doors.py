"""What clients are told of coordinators that share a broker's listeners."""

from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.answers.doors import door_of, doors
from millstream_cluster.answers.find_coordinator import find_coordinator
from millstream_cluster.answers.metadata import metadata
from millstream_cluster.ids import (
    OFFSETS_TOPIC,
    BrokerEpoch,
    LeaderEpoch,
    NodeId,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
)
from millstream_cluster.image import Image
from millstream_wire.messages import FindCoordinatorRequest, MetadataRequest

OFFSETS = UUID(int=11)
LISTENER = "PLAINTEXT"


def node(node_id: int, host: str, *, fenced: bool = False) -> list[r.MetadataRecord]:
    listeners = (r.Endpoint("INTERNAL", f"{host}.inside", 1), r.Endpoint(LISTENER, host, 9092))
    came = r.NodeRegistered(NodeId(node_id), BrokerEpoch(node_id), UUID(int=node_id), listeners, None)
    return [came] if fenced else [came, r.NodeUnfenced(NodeId(node_id), BrokerEpoch(node_id))]


def cluster(*nodes: list[r.MetadataRecord]) -> Image:
    """One group, coordinated by node 10001."""
    one = (NodeId(1),)
    records = [
        r.ClusterCreated("c"),
        *(record for each in nodes for record in each),
        r.TopicCreated(OFFSETS_TOPIC, OFFSETS, True),
        r.PartitionCreated(OFFSETS, 0, one, one, one[0], LeaderEpoch(0), PartitionEpoch(0)),
        r.ShardAssigned(OFFSETS, 0, NodeId(10_001), ProducerId(5), ProducerEpoch(0)),
    ]
    return Image.of(records, len(records))


def coordinator(image: Image) -> tuple[int, str, int]:
    [found] = find_coordinator(
        image, FindCoordinatorRequest(coordinator_keys=["g"]), 4, listener_name=LISTENER
    ).coordinators
    return found.node_id, found.host, found.port


def listed(image: Image) -> list[tuple[int, str]]:
    answer = metadata(image, MetadataRequest(topics=[]), 9, listener_name=LISTENER)
    return [(each.node_id, each.host) for each in answer.brokers]


def test_a_coordinator_behind_a_broker_is_met_as_that_broker() -> None:
    image = cluster(node(1, "a"), node(2, "b"), node(10_001, "b"))
    assert coordinator(image) == (2, "b", 9092)
    assert listed(image) == [(1, "a"), (2, "b")]


def test_a_coordinator_on_its_own_is_a_node_of_its_own() -> None:
    image = cluster(node(1, "a"), node(10_001, "c"))
    assert coordinator(image) == (10_001, "c", 9092)
    assert listed(image) == [(1, "a"), (10_001, "c")]


def test_a_broker_that_is_gone_is_nobodys_door() -> None:
    image = cluster(node(1, "a"), node(2, "b", fenced=True), node(10_001, "b"))
    assert coordinator(image) == (10_001, "b", 9092)
    assert listed(image) == [(1, "a"), (10_001, "b")]


def test_a_broker_is_its_own_door_whoever_else_listens_there() -> None:
    image = cluster(node(1, "a"), node(2, "a"), node(10_001, "a"))
    assert [each.node_id for each in doors(image)] == [1, 2]
    assert door_of(image, image.nodes[2]).node_id == 2

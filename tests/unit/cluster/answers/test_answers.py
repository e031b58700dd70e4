"""Answers from a small hand-built cluster: two live brokers, a fenced one, a coordinator, three topics."""

from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.answers.describe_cluster import CONTROLLERS, describe_cluster
from millstream_cluster.answers.describe_configs import WireResourceType, describe_configs, list_config_resources
from millstream_cluster.answers.describe_topic_partitions import describe_topic_partitions
from millstream_cluster.answers.find_coordinator import SHARE, TRANSACTION, find_coordinator, missing_topic
from millstream_cluster.answers.metadata import metadata, missing_topics
from millstream_cluster.answers.topic_name import is_valid_topic_name
from millstream_cluster.configs import TOPIC_CONFIGS
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
from millstream_cluster.shard import shard_of, share_key
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeTopicPartitionsRequest,
    FindCoordinatorRequest,
    ListConfigResourcesRequest,
    MetadataRequest,
)
from millstream_wire.messages.describe_configs import DescribeConfigsResource
from millstream_wire.messages.describe_topic_partitions import Cursor, TopicRequest
from millstream_wire.messages.metadata import MetadataRequestTopic

ORDERS, OFFSETS = UUID(int=10), UUID(int=11)
LISTENER = "PLAINTEXT"


def node(node_id: int) -> r.NodeRegistered:
    endpoints = (r.Endpoint("INTERNAL", "inside", 1), r.Endpoint(LISTENER, f"host-{node_id}", 9000 + node_id))
    return r.NodeRegistered(NodeId(node_id), BrokerEpoch(node_id), UUID(int=node_id), endpoints, "rack-a")


def partition(topic_id: UUID, number: int, broker: int, leader: int) -> r.PartitionCreated:
    replicas = (NodeId(broker),)
    return r.PartitionCreated(topic_id, number, replicas, replicas, NodeId(leader), LeaderEpoch(4), PartitionEpoch(0))


def cluster(*more: r.MetadataRecord, offsets: bool = True) -> Image:
    records: list[r.MetadataRecord] = [
        r.ClusterCreated("cluster-1"),
        node(2),
        node(1),
        node(3),
        node(10_001),
        *(r.NodeUnfenced(NodeId(number), BrokerEpoch(number)) for number in (1, 2, 10_001)),
        r.TopicCreated("orders", ORDERS, False),
        partition(ORDERS, 0, 1, 1),
        partition(ORDERS, 1, 2, 2),
        partition(ORDERS, 2, 3, -1),
    ]
    if offsets:
        records += [
            r.TopicCreated(OFFSETS_TOPIC, OFFSETS, True),
            partition(OFFSETS, 0, 1, 1),
            partition(OFFSETS, 1, 2, 2),
            r.ShardAssigned(OFFSETS, 0, NodeId(10_001), ProducerId(5), ProducerEpoch(0)),
        ]
    return Image.of([*records, *more], 100)


def topics(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def test_metadata_lists_live_brokers_and_coordinators_and_a_broker_as_controller() -> None:
    answer = metadata(cluster(), MetadataRequest(topics=[]), 12, listener_name=LISTENER)
    assert [(b.node_id, b.host, b.port, b.rack) for b in answer.brokers] == [
        (1, "host-1", 9001, "rack-a"),
        (2, "host-2", 9002, "rack-a"),
        (10_001, "host-10001", 19_001, "rack-a"),
    ]
    assert (answer.cluster_id, answer.controller_id, answer.topics) == ("cluster-1", 1, [])


@pytest.mark.parametrize(
    ("request_topics", "version", "expected"),
    [([], 0, ["orders", OFFSETS_TOPIC]), ([], 1, []), (None, 1, ["orders", OFFSETS_TOPIC])],
)
def test_an_empty_list_is_all_topics_in_version_0_and_none_later(
    request_topics: list[MetadataRequestTopic] | None, version: int, expected: list[str]
) -> None:
    answer = metadata(cluster(), MetadataRequest(topics=request_topics), version, listener_name=LISTENER)
    assert [topic.name for topic in answer.topics] == expected


def test_metadata_of_a_partition_without_a_leader() -> None:
    answer = metadata(cluster(), MetadataRequest(topics=topics("orders")), 12, listener_name=LISTENER)
    (topic,) = answer.topics
    assert (topic.topic_id, topic.topic_authorized_operations) == (ORDERS, -2147483648)
    assert [(p.partition_index, p.error_code, p.leader_id, p.offline_replicas) for p in topic.partitions] == [
        (0, 0, 1, []),
        (1, 0, 2, []),
        (2, ErrorCode.LEADER_NOT_AVAILABLE, -1, [3]),
    ]


def test_metadata_of_topics_that_are_not_there() -> None:
    by_name = MetadataRequest(topics=topics("gone", "a b"))
    answer = metadata(cluster(), by_name, 12, listener_name=LISTENER)
    assert [(t.name, t.error_code) for t in answer.topics] == [
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    assert missing_topics(cluster(), by_name, 12) == ["gone"]
    by_id = MetadataRequest(topics=[*topics("gone"), MetadataRequestTopic(topic_id=UUID(int=99), name=None)])
    answer = metadata(cluster(), by_id, 12, listener_name=LISTENER)
    assert [(t.name, t.error_code) for t in answer.topics] == [(None, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert missing_topics(cluster(), by_id, 12) == []
    reserved = MetadataRequest(topics=topics("__cluster_metadata", "__transaction_state", OFFSETS_TOPIC))
    assert missing_topics(cluster(offsets=False), reserved, 12) == [OFFSETS_TOPIC]


def test_describe_topic_partitions_goes_on_at_its_cursor() -> None:
    image = cluster()
    request = DescribeTopicPartitionsRequest(response_partition_limit=2)
    pages = []
    for _ in range(4):
        answer = describe_topic_partitions(image, request)
        pages.append([(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics])
        request.cursor = answer.next_cursor
        if request.cursor is None:
            break
    assert pages == [[(OFFSETS_TOPIC, [0, 1])], [("orders", [0, 1])], [("orders", [2])]]


def test_describe_topic_partitions_names_what_is_missing() -> None:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="zzz"), TopicRequest(name="orders"), TopicRequest(name="aaa")],
        cursor=Cursor(topic_name="orders", partition_index=1),
    )
    answer = describe_topic_partitions(cluster(), request)
    assert [(t.name, t.error_code, len(t.partitions)) for t in answer.topics] == [
        ("orders", 0, 2),
        ("zzz", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
    ]


@pytest.mark.parametrize(("topic", "index"), [("orders", -1), ("nurses", 0), ("zzz", 0)])
def test_a_cursor_outside_the_topics_asked_for_is_refused(topic: str, index: int) -> None:
    cursor = Cursor(topic_name=topic, partition_index=index)
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="orders")], cursor=cursor)
    (refused,) = describe_topic_partitions(cluster(), request).topics
    assert (refused.name, refused.error_code, refused.partitions) == ("orders", ErrorCode.INVALID_REQUEST, [])


def test_a_topic_that_is_asked_for_twice_is_answered_once() -> None:
    """As in Kafka; else a small request could ask for any amount of answer."""
    request = MetadataRequest(topics=topics("orders", "orders", "gone", "gone"))
    answer = metadata(cluster(), request, 12, listener_name=LISTENER)
    assert [topic.name for topic in answer.topics] == ["orders", "gone"]


def test_describe_cluster_lists_brokers_only() -> None:
    answer = describe_cluster(cluster(), DescribeClusterRequest(), listener_name=LISTENER)
    assert [broker.broker_id for broker in answer.brokers] == [1, 2]
    fenced = describe_cluster(cluster(), DescribeClusterRequest(include_fenced_brokers=True), listener_name=LISTENER)
    assert [(broker.broker_id, broker.is_fenced) for broker in fenced.brokers] == [(1, False), (2, False), (3, True)]
    controllers = describe_cluster(cluster(), DescribeClusterRequest(endpoint_type=CONTROLLERS), listener_name=LISTENER)
    assert controllers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_find_coordinator_names_the_shards_owner() -> None:
    image = cluster()
    owned = next(group for group in map(str, range(9)) if shard_of(group, 2) == 0)
    lost = next(group for group in map(str, range(9)) if shard_of(group, 2) == 1)
    answer = find_coordinator(image, FindCoordinatorRequest(coordinator_keys=[owned, lost]), 4, listener_name=LISTENER)
    assert [(c.key, c.node_id, c.port, c.error_code) for c in answer.coordinators] == [
        (owned, 10_001, 19_001, 0),
        (lost, -1, -1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ]
    single = find_coordinator(image, FindCoordinatorRequest(key=owned), 2, listener_name=LISTENER)
    assert (single.node_id, single.error_code) == (10_001, 0)


def test_find_coordinator_without_its_topic_and_for_share_groups() -> None:
    image = cluster(offsets=False)
    request = FindCoordinatorRequest(key="group")
    assert missing_topic(image, request) == "__consumer_offsets"
    assert missing_topic(cluster(), request) is None
    answer = find_coordinator(image, request, 0, listener_name=LISTENER)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    transaction = FindCoordinatorRequest(coordinator_keys=["t"], key_type=TRANSACTION)
    assert missing_topic(image, transaction) == "__transaction_state"
    (answered,) = find_coordinator(image, transaction, 6, listener_name=LISTENER).coordinators
    assert (answered.key, answered.error_code) == ("t", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    key = share_key("a:group", UUID(int=7), 3)
    share = FindCoordinatorRequest(coordinator_keys=["s", key, f"{key}x"], key_type=SHARE)
    assert missing_topic(image, share) == "__share_group_state"
    answers = find_coordinator(image, share, 6, listener_name=LISTENER).coordinators
    assert [(answered.key, answered.error_code) for answered in answers] == [
        ("s", ErrorCode.INVALID_REQUEST),
        (key, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (f"{key}x", ErrorCode.INVALID_REQUEST),
    ]


def test_describe_configs_lists_every_key_with_its_source() -> None:
    image = cluster(r.ConfigChanged(r.ResourceType.TOPIC, "orders", "retention.ms", "5000"))
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=WireResourceType.TOPIC, resource_name="orders", configuration_keys=None
            ),
            DescribeConfigsResource(resource_type=WireResourceType.TOPIC, resource_name="gone"),
            DescribeConfigsResource(resource_type=WireResourceType.BROKER, resource_name="1"),
            DescribeConfigsResource(resource_type=WireResourceType.BROKER, resource_name="2"),
        ],
        include_synonyms=True,
    )
    answer = describe_configs(image, request, node_id=1, static={"num.partitions": "4"}, log_levels={"root": "INFO"})
    orders, gone, own, other = answer.results
    assert {config.name for config in orders.configs} == set(TOPIC_CONFIGS)
    (retention,) = (config for config in orders.configs if config.name == "retention.ms")
    assert (retention.value, retention.config_source, retention.synonyms[0].name) == ("5000", 1, "retention.ms")
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (partitions,) = (config for config in own.configs if config.name == "num.partitions")
    assert (partitions.value, partitions.config_source) == ("4", 4)
    assert other.error_code == ErrorCode.INVALID_REQUEST


def test_list_config_resources() -> None:
    answer = list_config_resources(
        cluster(), ListConfigResourcesRequest(resource_types=[WireResourceType.TOPIC, WireResourceType.BROKER]), 1
    )
    names = [(resource.resource_type, resource.resource_name) for resource in answer.config_resources]
    assert names == [(2, OFFSETS_TOPIC), (2, "orders"), (4, "1"), (4, "2")]


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a.b_c-D9", True), ("", False), (".", False), ("..", False), ("a/b", False), ("x" * 250, False)],
)
def test_topic_names(name: str, valid: bool) -> None:
    assert is_valid_topic_name(name) is valid

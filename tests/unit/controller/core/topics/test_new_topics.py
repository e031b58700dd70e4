import pytest

from millstream_cluster import records as r
from millstream_cluster.configs import ConfigSource
from millstream_cluster.coordinator_topics import MIN_ISR, CoordinatorTopic, CoordinatorTopics
from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.new_partitions import Growth, create_partitions
from millstream_controller.core.settings import Settings
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("ä"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (NewTopic("here"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("with.dot", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", 10_001, 1), ErrorCode.POLICY_VIOLATION),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, -1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, 1, ((0, (1,)),)), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, -1, ((0, ()),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((0, (1, 1)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((0, (9,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((1, (1,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((0, (1,)), (0, (2,)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((0, (1,)), (1, (1, 2)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, ((0, (1, 2)), (1, (1,)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", 1, 1, (), (("no.such", "1"),)), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", 1, 1, (), (("retention.ms", "soon"),)), ErrorCode.INVALID_CONFIG),
        (NewTopic("t", 1, 1, (), (("retention.ms", None),)), ErrorCode.INVALID_CONFIG),
    ],
)
def test_what_cannot_be_created_is_refused_as_kafka_does(cluster, topic, error) -> None:
    cluster.register(1)
    cluster.register(2)
    cluster.create(NewTopic("here", 1, 1), NewTopic("with_dot", 1, 1))
    offset = cluster.image.offset
    answer = cluster.create(topic, NewTopic("good", 1, 1))
    assert answer[topic.name].outcome.error is error
    assert answer[topic.name].outcome.message
    assert answer["good"].outcome.error is ErrorCode.NONE
    assert cluster.image.offset == offset + 2


def test_a_name_given_twice_is_refused_as_a_whole(cluster) -> None:
    cluster.register(1)
    answer = cluster.create(NewTopic("t", 1, 1), NewTopic("t", 2, 1))
    assert answer["t"].outcome.error is ErrorCode.INVALID_REQUEST
    assert cluster.image.topic("t") is None


def test_names_of_one_request_collide_too(cluster) -> None:
    cluster.register(1)
    answer = cluster.create(NewTopic("a.b", 1, 1), NewTopic("a_b", 1, 1))
    assert answer["a.b"].outcome.error is ErrorCode.NONE
    assert answer["a_b"].outcome.error is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_defaults_come_from_the_settings_and_the_answer_tells_them(new_cluster) -> None:
    cluster = new_cluster(num_partitions=3, static={"log.retention.hours": "1"})
    cluster.register(1)
    answer = cluster.create(NewTopic("t", configs=(("cleanup.policy", "compact"),)))["t"]
    assert (answer.partitions, answer.replication_factor) == (3, 1)
    assert answer.configs["cleanup.policy"].source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert answer.configs["retention.ms"].text == "3600000"
    assert len(cluster.image.topic("t").partitions) == 3


def test_validate_only_answers_the_same_and_creates_nothing(cluster) -> None:
    cluster.register(1)
    answer = cluster.create(NewTopic("t", 4, 1), validate_only=True)["t"]
    assert (answer.outcome.error, answer.partitions) == (ErrorCode.NONE, 4)
    assert cluster.image.topic("t") is None


def test_partitions_spread_over_the_live_brokers(cluster) -> None:
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.beat(3, want_fence=True)
    cluster.create(NewTopic("a", 3, 1), NewTopic("b", 3, 1))
    leaders = [partition.leader for name in "ab" for partition in cluster.image.topic(name).partitions]
    assert sorted(leaders) == [1, 1, 1, 2, 2, 2]


def test_the_first_isr_has_those_who_are_there_and_the_first_of_them_leads(cluster) -> None:
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.fence(1)
    cluster.beat(2, want_shut_down=True)
    cluster.register(4)
    cluster.create(NewTopic("t", assignments=((0, (1, 2, 3, 4)), (1, (4, 3, 2, 1)))))
    assert [(p.replicas, p.isr, p.leader) for p in cluster.image.topic("t").partitions] == [
        ((1, 2, 3, 4), (3, 4), 3),
        ((4, 3, 2, 1), (4, 3), 4),
    ]


def test_a_topic_can_be_created_while_a_broker_is_away(cluster) -> None:
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.fence(1)
    cluster.create(NewTopic("t", 2, 3))
    assert [(p.replicas, p.isr, p.leader) for p in cluster.image.topic("t").partitions] == [
        ((2, 3, 1), (2, 3), 2),
        ((3, 2, 1), (3, 2), 3),
    ]
    assert cluster.create(NewTopic("u", 2, 4))["u"].outcome.error is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_growing_topic_keeps_its_factor(cluster) -> None:
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.create(NewTopic("t", 1, 2))
    cluster.do(create_partitions(cluster.machine, [Growth("t", 3)], validate_only=False))
    assert [len(p.replicas) for p in cluster.image.topic("t").partitions] == [2, 2, 2]


def test_several_replicas_need_a_level_of_the_log_that_has_them(new_cluster) -> None:
    machine = ControllerMachine(Settings(), Image())
    old = new_cluster()
    old.machine, old.history = machine, []
    old.do(Decision((r.ClusterCreated("test-cluster"),), None))
    for node in (1, 2):
        old.register(node)
    for topic in (NewTopic("t", 1, 2), NewTopic("t", assignments=((0, (1, 2)),))):
        refused = old.create(topic)["t"].outcome
        assert refused.error is ErrorCode.INVALID_REPLICATION_FACTOR
        assert "metadata.version" in refused.message
    assert old.create(NewTopic("t", 1, 1))["t"].outcome.error is ErrorCode.NONE


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_the_cluster_creates_its_own_topics_with_as_many_replicas_as_it_can(cluster, brokers, replicas) -> None:
    for node in range(brokers):
        cluster.register(node)
    answer = cluster.create(NewTopic("__transaction_state"))["__transaction_state"]
    assert answer.replication_factor == replicas
    own = cluster.image.config("TOPIC", "__transaction_state")
    assert own.get("min.insync.replicas") == (None if replicas == 1 else "2")
    assert answer.configs["min.insync.replicas"].text == ("1" if replicas == 1 else "2")


def test_a_factor_that_is_asked_for_waits_until_there_are_so_many_brokers(new_cluster) -> None:
    own = CoordinatorTopics(offsets=CoordinatorTopic(replication_factor=3), transactions=CoordinatorTopic(min_isr=1))
    cluster = new_cluster(coordinator_topics=own, default_replication_factor=3)
    for node in (1, 2):
        cluster.register(node)
    for name in ("__consumer_offsets", "t"):
        assert cluster.create(NewTopic(name))[name].outcome.error is ErrorCode.INVALID_REPLICATION_FACTOR
    cluster.register(3)
    for name in ("__consumer_offsets", "t"):
        assert cluster.create(NewTopic(name))[name].replication_factor == 3
    cluster.create(NewTopic("__transaction_state"), NewTopic("__share_group_state", configs=((MIN_ISR, "3"),)))
    names = ("__consumer_offsets", "__transaction_state", "__share_group_state", "t")
    assert [cluster.image.config("TOPIC", name).get(MIN_ISR) for name in names] == ["2", "1", "3", None]


def test_without_a_live_broker_nothing_can_be_created(cluster) -> None:
    assert cluster.create(NewTopic("t", 1, 1))["t"].outcome.error is ErrorCode.INVALID_REPLICATION_FACTOR


def test_the_offsets_topic_is_internal_compacted_and_has_its_own_partition_count(cluster) -> None:
    cluster.register(1)
    assert cluster.create(NewTopic("__consumer_offsets"))["__consumer_offsets"].partitions == 50
    assert cluster.image.topic("__consumer_offsets").internal
    assert cluster.image.config("TOPIC", "__consumer_offsets") == {"cleanup.policy": "compact"}

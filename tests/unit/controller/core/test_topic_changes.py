"""DeleteTopics, CreatePartitions and the configs of topics, brokers and groups."""

from uuid import UUID

import pytest

from millstream_cluster.records import ResourceType
from millstream_controller.core.altered_configs import Change, Operation, Resource, alter_incrementally, alter_whole
from millstream_controller.core.partitions.new_partitions import Growth, create_partitions
from millstream_controller.core.topics.deleted_topics import TopicRef, delete_topics
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode

TOPIC = Resource(ResourceType.TOPIC, "t")
GROUP = Resource(ResourceType.GROUP, "g")
METRICS = Resource(ResourceType.CLIENT_METRICS, "m")


@pytest.fixture
def cluster(new_cluster):
    cluster = new_cluster()
    cluster.register(1)
    cluster.create(NewTopic("t", 2, 1), NewTopic("u", 1, 1), NewTopic("__consumer_offsets"))
    return cluster


def delete(cluster, *refs):
    return [answer.outcome.error for answer in cluster.do(delete_topics(cluster.machine, refs))]


def grow(cluster, *growths, validate_only=False):
    answers = cluster.do(create_partitions(cluster.machine, growths, validate_only=validate_only))
    return {name: outcome.error for name, outcome in answers}


def alter(cluster, resource, *changes, validate_only=False):
    answers = dict(cluster.do(alter_incrementally(cluster.machine, [(resource, changes)], validate_only=validate_only)))
    return answers[resource].error


def test_topics_are_deleted_by_name_or_by_id(cluster) -> None:
    topic_id = cluster.image.topic("u").topic_id
    assert delete(cluster, TopicRef("t", None), TopicRef(None, topic_id)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert set(cluster.image.topics) == {"__consumer_offsets"}


def test_what_cannot_be_deleted_is_told_per_topic(cluster) -> None:
    topic_id = cluster.image.topic("u").topic_id
    alter(cluster, TOPIC, Change("deletion.protection", Operation.SET, "true"))
    refs = [TopicRef("t", None), TopicRef("no", None), TopicRef(None, UUID(int=99)), TopicRef(None, None)]
    answers = cluster.do(delete_topics(cluster.machine, [*refs, TopicRef("u", topic_id)]))
    assert {(answer.name, answer.topic_id): answer.outcome.error for answer in answers} == {
        ("t", cluster.image.topic("t").topic_id): ErrorCode.POLICY_VIOLATION,
        ("no", None): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (None, UUID(int=99)): ErrorCode.UNKNOWN_TOPIC_ID,
        (None, None): ErrorCode.INVALID_REQUEST,
        ("u", topic_id): ErrorCode.INVALID_REQUEST,
    }
    assert delete(cluster, TopicRef(None, None), TopicRef(None, None)) == [ErrorCode.INVALID_REQUEST] * 2
    assert cluster.image.topic("u") is not None


BOTH, NAME_TWICE = "You may not specify both topic name and topic id.", "Duplicate topic name."
ID_TWICE = "Duplicate topic id."
GIVEN_TWICE = "The provided topic name maps to an ID that was already supplied."


@pytest.mark.parametrize(
    ("refs", "told", "left"),
    [
        ("u,id", [GIVEN_TWICE], {"t", "u"}),
        ("u+id,id", [BOTH, None], {"t"}),
        ("u,x+id", [None, BOTH], {"t"}),
        ("id,id,u", [ID_TWICE, GIVEN_TWICE], {"t", "u"}),
        ("u,u,id", [NAME_TWICE, None], {"t"}),
        ("u+id,u+id", [BOTH, BOTH], {"t", "u"}),
        ("u,u,t", [NAME_TWICE, None], {"u"}),
    ],
)
def test_a_topic_that_is_given_twice(cluster, refs: str, told: list[str | None], left: set[str]) -> None:
    """As Apache Kafka answers it: what has both counts for nothing else, and a name that is given as an id too is not deleted."""
    topic_id = cluster.image.topic("u").topic_id
    wanted = []
    for ref in refs.split(","):
        name, _, other = ref.partition("+")
        wanted.append(TopicRef(None if ref == "id" else name, topic_id if ref == "id" or other else None))
    answers = cluster.do(delete_topics(cluster.machine, wanted))
    assert [answer.outcome.message for answer in answers] == told
    assert {"t", "u"} & set(cluster.image.topics) == left


def test_deletion_can_be_turned_off(new_cluster) -> None:
    cluster = new_cluster(delete_topic_enable=False)
    cluster.register(1)
    cluster.create(NewTopic("t", 1, 1))
    assert delete(cluster, TopicRef("t", None)) == [ErrorCode.TOPIC_DELETION_DISABLED]


def test_partitions_only_grow(cluster) -> None:
    assert grow(cluster, Growth("t", 5)) == {"t": ErrorCode.NONE}
    assert len(cluster.image.topic("t").partitions) == 5
    assert grow(cluster, Growth("t", 5), Growth("u", 0), Growth("no", 2), Growth("__consumer_offsets", 60)) == {
        "t": ErrorCode.INVALID_PARTITIONS,
        "u": ErrorCode.INVALID_PARTITIONS,
        "no": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "__consumer_offsets": ErrorCode.POLICY_VIOLATION,
    }


def test_added_partitions_may_be_assigned_by_hand(cluster) -> None:
    assert grow(cluster, Growth("t", 4, ((1,),)))["t"] is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(cluster, Growth("t", 4, ((1,), (7,))))["t"] is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(cluster, Growth("t", 4, ((1,), (1,))), validate_only=True)["t"] is ErrorCode.NONE
    assert len(cluster.image.topic("t").partitions) == 2
    assert grow(cluster, Growth("t", 4, ((1,), (1,))))["t"] is ErrorCode.NONE
    assert len(cluster.image.topic("t").partitions) == 4
    assert grow(cluster, Growth("u", 2), Growth("u", 3))["u"] is ErrorCode.INVALID_REQUEST


def test_configs_are_set_taken_back_and_lists_edited(cluster) -> None:
    def configs():
        return dict(cluster.image.config(ResourceType.TOPIC, "t"))

    assert alter(cluster, TOPIC, Change("retention.ms", Operation.SET, "5")) is ErrorCode.NONE
    assert alter(cluster, TOPIC, Change("cleanup.policy", Operation.APPEND, "compact")) is ErrorCode.NONE
    assert configs() == {"retention.ms": "5", "cleanup.policy": "delete,compact"}
    assert alter(cluster, TOPIC, Change("cleanup.policy", Operation.SUBTRACT, "delete")) is ErrorCode.NONE
    assert alter(cluster, TOPIC, Change("retention.ms", Operation.DELETE, None)) is ErrorCode.NONE
    assert configs() == {"cleanup.policy": "compact"}
    before = cluster.image.offset
    assert alter(cluster, TOPIC, Change("no.such", Operation.DELETE, None)) is ErrorCode.NONE
    assert alter(cluster, TOPIC, Change("cleanup.policy", Operation.SET, "compact")) is ErrorCode.NONE
    assert cluster.image.offset == before


@pytest.mark.parametrize(
    ("resource", "changes", "error"),
    [
        (TOPIC, [Change("no.such", Operation.SET, "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, [Change("retention.ms", Operation.SET, "x")], ErrorCode.INVALID_CONFIG),
        (TOPIC, [Change("retention.ms", Operation.SET, None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, [Change("retention.ms", Operation.APPEND, "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, [Change("retention.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        (TOPIC, [Change("retention.ms", 0, "1"), Change("retention.ms", 0, "2")], ErrorCode.INVALID_REQUEST),
        (TOPIC, [Change("retention.ms", 0, "1"), Change("no.such", 0, "2")], ErrorCode.INVALID_CONFIG),
        (Resource(ResourceType.TOPIC, "no"), [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(ResourceType.TOPIC, ""), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.TOPIC, "a b"), [], ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource(None, "x"), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "x"), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "7"), [], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "1"), [Change("num.partitions", 0, "2")], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.GROUP, ""), [], ErrorCode.INVALID_REQUEST),
        (GROUP, [Change("consumer.heartbeat.interval.ms", 0, "45000")], ErrorCode.INVALID_CONFIG),
        (GROUP, [Change("max.session.timeout.ms", 0, "5999")], ErrorCode.INVALID_CONFIG),
        (GROUP, [Change("admission", 0, "sometimes")], ErrorCode.INVALID_CONFIG),
        (Resource(ResourceType.BROKER, "1"), [Change("log.retention.ms", 0, "x")], ErrorCode.INVALID_REQUEST),
        (Resource(ResourceType.CLIENT_METRICS, ""), [], ErrorCode.INVALID_REQUEST),
        (METRICS, [Change("interval.ms", 0, "99")], ErrorCode.INVALID_REQUEST),
        (METRICS, [Change("match", 0, "client_id=a,zoo=b")], ErrorCode.INVALID_CONFIG),
        (METRICS, [Change("match", 0, "client_id=[")], ErrorCode.INVALID_CONFIG),
    ],
)
def test_bad_changes_are_refused_and_change_nothing(cluster, resource, changes, error) -> None:
    before = cluster.image.offset
    assert alter(cluster, resource, *changes) is error
    assert cluster.image.offset == before


def test_brokers_and_groups_have_configs_too(cluster) -> None:
    everyone, group = Resource(ResourceType.BROKER, ""), Resource(ResourceType.GROUP, "g")
    assert alter(cluster, everyone, Change("log.retention.ms", 0, "7")) is ErrorCode.NONE
    assert alter(cluster, Resource(ResourceType.BROKER, "1"), Change("log.retention.ms", 0, "8")) is ErrorCode.NONE
    assert alter(cluster, group, Change("consumer.session.timeout.ms", 0, "9000")) is ErrorCode.NONE
    assert cluster.image.config(ResourceType.GROUP, "g") == {"consumer.session.timeout.ms": "9000"}


def test_alter_configs_sets_the_whole(cluster) -> None:
    alter(cluster, TOPIC, Change("retention.ms", 0, "5"), Change("flush.ms", 0, "5"))
    answers = dict(cluster.do(alter_whole(cluster.machine, [(TOPIC, (("flush.ms", "6"),))], validate_only=False)))
    assert answers[TOPIC].error is ErrorCode.NONE
    assert cluster.image.config(ResourceType.TOPIC, "t") == {"flush.ms": "6"}
    twice = (("flush.ms", "6"), ("flush.ms", "7"))
    answers = dict(cluster.do(alter_whole(cluster.machine, [(TOPIC, twice)], validate_only=False)))
    assert answers[TOPIC].error is ErrorCode.INVALID_REQUEST


def test_validate_only_and_repeated_resources(cluster) -> None:
    change = (Change("retention.ms", 0, "5"),)
    assert alter(cluster, TOPIC, *change, validate_only=True) is ErrorCode.NONE
    decision = alter_incrementally(cluster.machine, [(TOPIC, change), (TOPIC, change)], validate_only=False)
    assert dict(decision.reply)[TOPIC].error is ErrorCode.INVALID_REQUEST
    assert cluster.image.config(ResourceType.TOPIC, "t") == {}

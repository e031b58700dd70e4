"""Where things are, by name, by id and by nothing: our answers and Apache Kafka's, but for who the nodes are."""

import dataclasses
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker
from wire_client import WireClient

from millstream_wire import messages as m
from millstream_wire.messages import describe_configs, describe_topic_partitions, metadata

TOPIC, OTHER, MISSING = (f"{kind}-{uuid.uuid4().hex[:10]}" for kind in ("topic", "other", "missing"))
UNKNOWN_ID = uuid.UUID(int=1 << 70)
OWN_AFFAIR = {
    *("brokers", "cluster_id", "controller_id", "host", "port", "node_id", "rack"),
    *("leader_id", "replica_nodes", "isr_nodes"),
}


class Asking:
    """One server with two topics."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        with WireClient(bootstrap) as client:
            for topic in (TOPIC, OTHER):
                client.create_topic(topic)
        self.ids: dict[uuid.UUID, str] = {}
        servers.eventually(self._note_ids)

    def _note_ids(self) -> None:
        (answer,) = ask(self.bootstrap, _named(TOPIC, OTHER), version=12)
        assert [topic.error_code for topic in answer.topics] == [0, 0]
        self.ids = {topic.topic_id: topic.name for topic in answer.topics}

    def id_of(self, topic: str) -> uuid.UUID:
        return next(topic_id for topic_id, name in self.ids.items() if name == topic)

    def answers(self, request: Any, since: int = 0) -> list[Any]:
        versions = range(max(since, request.versions[0]), request.versions[1] + 1)
        return [self._plain(ask(self.bootstrap, request, version=version)[0]) for version in versions]

    def _plain(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            names = {each.name for each in dataclasses.fields(value)} - OWN_AFFAIR
            return {name: self._plain(getattr(value, name)) for name in sorted(names)}
        if isinstance(value, list):
            return sorted((self._plain(each) for each in value), key=repr)
        return self.ids.get(value, value) if isinstance(value, uuid.UUID) else value


def _named(*topics: str) -> m.MetadataRequest:
    wanted = [metadata.MetadataRequestTopic(name=topic) for topic in topics]
    return m.MetadataRequest(topics=wanted, allow_auto_topic_creation=False)


def topics_by_id_and_by_name(asking: Asking) -> list[Any]:
    told = []
    by_name = [metadata.MetadataRequestTopic(name=name) for name in (OTHER, MISSING)]
    for topic_id in (asking.id_of(TOPIC), UNKNOWN_ID):
        by_id = metadata.MetadataRequestTopic(name=None, topic_id=topic_id)
        named = metadata.MetadataRequestTopic(name=OTHER, topic_id=topic_id)
        for topics in ([by_id], [by_id, by_id], [by_id, *by_name], [by_id, named]):
            told += asking.answers(m.MetadataRequest(topics=topics, allow_auto_topic_creation=False), since=10)
    return told


def topics_that_are_not_there(asking: Asking) -> list[Any]:
    """Versions before 4 create them."""
    topics = (MISSING, "", "a b", "__transaction_state_", "__cluster_metadata")
    return [answer for topic in topics for answer in asking.answers(_named(topic), since=4)]


def operations_on_what_is_not_there(asking: Asking) -> list[Any]:
    wanted = [metadata.MetadataRequestTopic(name=name) for name in (TOPIC, MISSING, "a b")]
    request = m.MetadataRequest(
        topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=True
    )
    return asking.answers(request, since=8)


def pages_that_cannot_be(asking: Asking) -> list[Any]:
    wanted = [describe_topic_partitions.TopicRequest(name=name) for name in (TOPIC, OTHER, TOPIC)]
    cursor = describe_topic_partitions.Cursor(topic_name=MISSING)
    return asking.answers(m.DescribeTopicPartitionsRequest(topics=wanted, cursor=cursor))


def pages_that_end_before_what_is_not_there(asking: Asking) -> list[Any]:
    names = (TOPIC, OTHER, MISSING, f"{TOPIC}-", f"a{MISSING}", "a b")
    wanted = [describe_topic_partitions.TopicRequest(name=name) for name in names]
    cursors = [None, *(describe_topic_partitions.Cursor(topic_name=name, partition_index=2) for name in names)]
    asked = [
        m.DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=limit, cursor=cursor)
        for cursor in cursors
        for limit in (1, 2, 9)
    ]
    return [answer for request in asked for answer in asking.answers(request)]


def coordinators(asking: Asking) -> list[Any]:
    def known() -> None:
        assert asking.answers(m.FindCoordinatorRequest(key="g"), since=1)[0]["error_code"] == 0

    servers.eventually(known)
    found = m.FindCoordinatorRequest(key="g", coordinator_keys=["g", "", "h"])
    return asking.answers(found)


def coordinators_of_other_kinds(asking: Asking) -> list[Any]:
    """Version 6 finds those of share partitions."""
    key = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
    kinds = (2, 3, -1)
    asked = [m.FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key, ""]) for kind in kinds]
    told = [ask(asking.bootstrap, request, version=version)[0] for request in asked for version in range(1, 6)]
    keys = ("", "g", "g:1", "g::1", ":AAAAAAAAAAAAAAAAAAAAAQ:1", "g:AAAA:1", "g:AAAAAAAAAAAAAAAAAAAAAQ:x")
    bad = m.FindCoordinatorRequest(key_type=2, coordinator_keys=list(keys))
    return told + asking.answers(bad, since=6)


def clusters_of_other_kinds(asking: Asking) -> list[Any]:
    kinds = (0, 2, 3)
    return [each for kind in kinds for each in asking.answers(m.DescribeClusterRequest(endpoint_type=kind), since=1)]


def configs_of_what_is_there_and_not(asking: Asking) -> list[Any]:
    told = []
    for topic in (TOPIC, MISSING):
        resource = describe_configs.DescribeConfigsResource(
            resource_type=2, resource_name=topic, configuration_keys=["retention.ms"]
        )
        told += asking.answers(m.DescribeConfigsRequest(resources=[resource]))
    return told


COURSES = (
    topics_by_id_and_by_name,
    topics_that_are_not_there,
    operations_on_what_is_not_there,
    pages_that_cannot_be,
    pages_that_end_before_what_is_not_there,
    coordinators,
    coordinators_of_other_kinds,
    clusters_of_other_kinds,
    configs_of_what_is_there_and_not,
)


@pytest.fixture(scope="module")
def ours(node: servers.ServerProcess) -> Asking:
    return Asking(node.bootstrap)


@pytest.fixture(scope="module")
def theirs(kafka: KafkaBroker) -> Asking:
    return Asking(kafka.bootstrap)


@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.__name__)
def test_kafka_answers_the_same(ours: Asking, theirs: Asking, course: Callable[[Asking], list[Any]]) -> None:
    assert course(ours) == course(theirs)

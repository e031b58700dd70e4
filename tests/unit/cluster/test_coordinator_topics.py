"""The coordinators' topics are described once, and each process's configuration fills that in."""

from pathlib import Path

import pytest

from millstream_broker.config import BrokerConfig
from millstream_cluster.coordinator_topics import NEEDED_CONFIGS, CoordinatorTopic, CoordinatorTopics
from millstream_cluster.ids import COORDINATOR_TOPICS
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.properties import Properties, PropertyError

PROPERTIES = {
    "controller.bootstrap.servers": "localhost:9093",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.segment.bytes": "1001",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.segment.bytes": "1002",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.segment.bytes": "1003",
}


def test_broker_and_coordinator_have_the_same_topics_created_from_the_same_properties(tmp_path: Path) -> None:
    broker = BrokerConfig.from_properties(Properties({**PROPERTIES, "node.id": "1", "log.dirs": str(tmp_path)}))
    coordinator = CoordinatorConfig.from_properties(Properties({**PROPERTIES, "node.id": "1"}))
    assert broker.coordinator_topics == coordinator.coordinator_topics
    topics = coordinator.coordinator_topics
    assert [topics.offsets.partitions, topics.transactions.partitions, topics.share_state.partitions] == [3, 4, 5]
    assert topics.share_state.configs == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "1003",
    }


@pytest.mark.parametrize("name", sorted(COORDINATOR_TOPICS))
def test_each_of_them_has_what_it_cannot_be_without(name: str) -> None:
    topic = CoordinatorConfig.from_properties(Properties({**PROPERTIES, "node.id": "1"})).coordinator_topics.of(name)
    assert topic is not None
    assert NEEDED_CONFIGS.items() <= topic.configs.items()


def test_no_other_topic_is_one_of_them() -> None:
    topics = CoordinatorConfig.from_properties(Properties({**PROPERTIES, "node.id": "1"})).coordinator_topics
    assert topics.of("orders") is None


@pytest.mark.parametrize(("live", "replicas", "min_isr"), [(0, 1, 1), (1, 1, 1), (2, 2, 2), (3, 3, 2), (7, 3, 2)])
def test_what_nobody_configured_follows_from_how_many_brokers_there_are(live: int, replicas: int, min_isr: int) -> None:
    topic = CoordinatorTopic()
    assert topic.replicas_among(live) == replicas
    assert topic.min_isr_of(replicas) == min_isr


def test_what_is_configured_holds_however_many_brokers_there_are() -> None:
    topics = CoordinatorTopics.from_properties(
        {
            "offsets.topic.replication.factor": "5",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "3",
            "share.coordinator.state.topic.min.isr": "1",
        }
    )
    assert topics.offsets.replicas_among(1) == 5
    assert topics.transactions.replicas_among(9) == 3
    assert [topic.min_isr_of(3) for topic in (topics.offsets, topics.transactions, topics.share_state)] == [2, 3, 1]
    assert topics.transactions.min_isr_of(1) == 1
    assert topics.transactions.configs["min.insync.replicas"] == "3"
    assert "min.insync.replicas" not in topics.offsets.configs


def test_a_factor_that_cannot_be_is_a_property_error() -> None:
    wrong = Properties({**PROPERTIES, "node.id": "1", "offsets.topic.replication.factor": "0"})
    with pytest.raises(PropertyError):
        CoordinatorConfig.from_properties(wrong)

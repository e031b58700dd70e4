"""What the processes of a Cluster are told."""

from typing import Any

import pytest

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import ClusterIdentity
from millstream_operator.resources.stateful_set import properties

CLUSTER = ClusterIdentity("demo", "apps", "uid-1")
KEYS = ("default.replication.factor", "offsets.topic.replication.factor", "min.insync.replicas")


def spec(brokers: int, **config: str) -> dict[str, Any]:
    return {"brokers": {"replicas": brokers}, "controllers": {"replicas": 2}, "config": config}


@pytest.mark.parametrize(("brokers", "factor", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (9, "3", "2")])
def test_topics_have_as_many_replicas_as_let_one_broker_be_away(brokers: int, factor: str, in_sync: str) -> None:
    told = properties(CLUSTER, spec(brokers), Role.CONTROLLER)
    assert [told[key] for key in KEYS] == [factor, factor, in_sync]


def test_the_clusters_own_config_has_the_last_word() -> None:
    told = properties(CLUSTER, spec(3, **{"default.replication.factor": "2"}), Role.BROKER)
    assert [told[key] for key in KEYS] == ["2", "3", "2"]

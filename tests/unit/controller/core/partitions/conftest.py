"""Three brokers and a topic of three replicas, of which two have to be in sync."""

import pytest

from millstream_controller.core.topics.new_topics import NewTopic


@pytest.fixture
def three(new_cluster):
    cluster = new_cluster()
    for node in (1, 2, 3):
        cluster.register(node)
    replicas = ((0, (1, 2, 3)),)
    cluster.create(NewTopic("t", assignments=replicas, configs=(("min.insync.replicas", "2"),)))
    return cluster

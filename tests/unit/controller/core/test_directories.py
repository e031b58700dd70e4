"""Several directories per broker: where replicas are, and what follows when one of the directories fails."""

from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.history import events_of
from millstream_cluster.ids import NO_NODE, UNASSIGNED_DIRECTORY, UNOPENED_DIRECTORY
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.nodes.nodes import Heartbeat, Registration, heartbeat, register
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.core.partitions.whereabouts import Whereabouts, note_whereabouts
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode

A, B, C = UUID(int=10), UUID(int=11), UUID(int=12)


class Directories:
    """Three brokers, of which the first has directories A and B."""

    def __init__(self, cluster) -> None:
        self.cluster = cluster
        for node_id in (1, 2, 3):
            cluster.register(node_id, port=9090 + node_id)
        self.come(A, B)
        cluster.create(NewTopic("t", assignments=((0, (1, 2, 3)),)))
        cluster.create(NewTopic("single", assignments=((0, (1,)),)))

    def come(self, *log_dirs: UUID, beat: bool = True) -> None:
        node = self.cluster.image.node(1)
        wanted = Registration(
            1,
            self.cluster.image.cluster_id,
            node.incarnation_id,
            node.listeners,
            None,
            log_dirs,
            node.features,
            node.epoch,
        )
        assert self.cluster.do(register(self.cluster.machine, wanted, session_live=True)).outcome.error == 0
        if beat:
            self.beat()

    def beat(self, *offline: UUID):
        node = self.cluster.image.node(1)
        beat = Heartbeat(1, node.epoch, self.cluster.image.offset, False, False, offline)
        return self.cluster.do(heartbeat(self.cluster.machine, beat))

    def tell(self, topic: str, directory: UUID):
        partition = self.cluster.partition(topic)
        places = {(partition.topic_id, 0): directory}
        told = Whereabouts(1, self.cluster.image.node(1).epoch, places)
        return self.cluster.do(note_whereabouts(self.cluster.machine, told))


@pytest.fixture
def directories(cluster):
    return Directories(cluster)


def test_a_broker_says_where_its_replicas_are(directories) -> None:
    directories.tell("t", A)
    partition = directories.cluster.partition("t")
    assert partition.directories == (A, UNASSIGNED_DIRECTORY, UNASSIGNED_DIRECTORY)
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1, 2, 3), 0)
    before = directories.cluster.image.offset
    directories.tell("t", A)
    assert directories.cluster.image.offset == before, "nothing new costs nothing"


def test_what_is_in_a_directory_that_failed_is_led_by_others(directories) -> None:
    directories.tell("t", A)
    directories.tell("single", B)
    reply = directories.beat(A)
    assert not reply.fenced
    cluster = directories.cluster
    partition = cluster.partition("t")
    assert (partition.leader, partition.isr) == (2, (2, 3))
    assert cluster.image.node(1).log_dirs == (B,)
    assert cluster.partition("single").leader == 1
    before = cluster.image.offset
    directories.beat(A)
    assert cluster.image.offset == before, "it is said with every heartbeat from then on"


def test_a_single_replica_in_a_directory_that_failed_waits_for_it(directories) -> None:
    directories.tell("single", A)
    directories.beat(A)
    partition = directories.cluster.partition("single")
    assert (partition.leader, partition.isr) == (NO_NODE, (1,))
    directories.come(A, B)
    partition = directories.cluster.partition("single")
    assert (partition.leader, partition.isr) == (1, (1,))


def test_a_replica_that_turns_out_to_be_in_a_failed_directory_goes_then(directories) -> None:
    """It was made and had not been told yet when the directory failed."""
    directories.beat(A)
    assert directories.cluster.partition("t").leader == 1
    directories.tell("t", A)
    assert directories.cluster.partition("t").isr == (2, 3)


def test_what_its_broker_cannot_open_is_led_by_others_and_waited_for(directories) -> None:
    cluster = directories.cluster
    begin = len(cluster.history)
    directories.tell("t", UNOPENED_DIRECTORY)
    directories.tell("single", UNOPENED_DIRECTORY)
    told = [
        (each.about, each.what, each.why)
        for each in events_of(list(enumerate(cluster.history)), {})
        if each.time_ms >= begin
    ]
    assert told == [
        ("t-0", "broker 2 leads instead of broker 1", "broker 1 cannot open it"),
        ("t-0", "broker 1 out of sync; in sync 2,3", "broker 1 cannot open it"),
        ("single-0", "no leader", "broker 1 cannot open it"),
    ]
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2, 3))
    assert (cluster.partition("single").leader, cluster.partition("single").isr) == (NO_NODE, (1,))
    assert cluster.machine.holdings.directories_of(1) == [], "no directory has failed: nothing is made again elsewhere"
    directories.tell("single", B)
    assert cluster.partition("single").leader == 1


def test_nobody_joins_an_isr_from_a_directory_that_failed(directories) -> None:
    directories.tell("t", A)
    directories.beat(A)
    assert directories.cluster.propose("t", (2, 3, 1)) is ErrorCode.INELIGIBLE_REPLICA
    directories.tell("t", B)
    assert directories.cluster.propose("t", (2, 3, 1)) is ErrorCode.NONE


def test_a_broker_that_comes_without_a_directory_does_not_lead_what_was_in_it(directories) -> None:
    directories.tell("t", A)
    directories.tell("single", A)
    directories.come(B)
    assert directories.cluster.partition("t").leader == 2
    assert directories.cluster.partition("single").leader == NO_NODE


def test_what_is_lost_may_begin_anew_in_any_directory(directories) -> None:
    directories.tell("single", A)
    directories.come(B, C)
    cluster = directories.cluster
    key = (cluster.partition("single").topic_id, 0)
    cluster.do(lose_replicas(cluster.machine, Loss(1, cluster.image.node(1).epoch, (key,))))
    partition = cluster.partition("single")
    assert (partition.isr, partition.directories) == ((), ())


def test_a_broker_whose_every_directory_failed_is_fenced(directories) -> None:
    directories.tell("t", A)
    assert directories.beat(A, B).fenced
    assert directories.cluster.partition("t").isr == (2, 3)


def test_what_cannot_be_noted_is_told_for_each_partition(directories) -> None:
    cluster = directories.cluster
    cluster.create(NewTopic("elsewhere", assignments=((0, (2,)),)))
    here, elsewhere = cluster.partition("t").topic_id, cluster.partition("elsewhere").topic_id
    places = {(here, 0): A, (here, 7): A, (elsewhere, 0): A, (UUID(int=999), 0): A}
    told = Whereabouts(1, cluster.image.node(1).epoch, places)
    reply = cluster.do(note_whereabouts(cluster.machine, told))
    assert reply.errors == {
        (here, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        (elsewhere, 0): ErrorCode.NOT_LEADER_OR_FOLLOWER,
        (UUID(int=999), 0): ErrorCode.UNKNOWN_TOPIC_ID,
    }
    stale = cluster.do(note_whereabouts(cluster.machine, replace(told, broker_epoch=0)))
    assert stale.outcome.error is ErrorCode.STALE_BROKER_EPOCH


def test_a_cluster_of_an_older_level_takes_brokers_with_one_directory(cluster) -> None:
    cluster.machine.image.metadata_version = MetadataVersion.RELEASE_0_1
    wanted = Registration(1, cluster.image.cluster_id, UUID(int=5), (r.Endpoint("P", "h", 9092),), None, (A, B))
    refused = cluster.do(register(cluster.machine, wanted, session_live=False))
    assert refused.outcome.error is ErrorCode.INVALID_REGISTRATION
    assert cluster.do(register(cluster.machine, replace(wanted, log_dirs=(A,)), session_live=False)).outcome.error == 0

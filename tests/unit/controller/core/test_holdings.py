"""The indexes by broker are held against a scan by `ControllerMachine.check` after every decision of every test; here is what they tell."""

from dataclasses import replace

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE
from millstream_controller.core.topics.deleted_topics import TopicRef, delete_topics
from millstream_controller.core.topics.new_topics import NewTopic


def test_who_keeps_what(cluster) -> None:
    cluster.register(1)
    cluster.register(2)
    cluster.create(NewTopic("t", assignments=((0, (1,)), (1, (2,)), (2, (2,)))))
    machine = cluster.machine
    assert [p.partition for p in machine.replicas_on(2)] == [1, 2]
    assert [(c.node_id, c.replicas, c.leaders) for c in machine.carriers()] == [(1, 1, 1), (2, 2, 2)]
    cluster.beat(2, want_fence=True)
    assert [p.partition for p in machine.offline_partitions()] == [1, 2]
    assert [p.partition for p in machine.replicas_on(2)] == [1, 2]
    cluster.do(delete_topics(machine, [TopicRef("t", None)]))
    assert machine.replicas_on(2) == machine.offline_partitions() == []


def test_a_partition_on_the_move_counts_for_those_who_will_have_it(cluster) -> None:
    for node in (1, 2):
        cluster.register(node)
    cluster.create(NewTopic("t", assignments=((0, (1,)),)))
    partition = cluster.image.partition("t", 0)
    change = replace(
        partition.changed(),
        replicas=(2, 1),
        adding_replicas=(2,),
        removing_replicas=(1,),
    )
    cluster.machine.apply(change)
    cluster.machine.check()
    machine = cluster.machine
    assert machine.holdings.moving == {(partition.topic_id, 0)}
    assert machine.holdings.led_by_another == {(partition.topic_id, 0)}
    assert [(c.node_id, c.replicas, c.leaders) for c in machine.carriers()] == [(1, 0, 0), (2, 1, 1)]
    assert machine.replicas_on(1) == machine.replicas_on(2) == [machine.image.partition("t", 0)]
    machine.apply(replace(machine.image.partition("t", 0).changed(), leader=NO_NODE))
    assert machine.holdings.led_by_another == set()
    assert machine.holdings.offline == {(partition.topic_id, 0)}
    ended = replace(machine.image.partition("t", 0).changed(), replicas=(1,), adding_replicas=(), removing_replicas=())
    machine.apply(ended)
    machine.check()
    assert machine.holdings.moving == set()
    assert machine.replicas_on(2) == []


def test_cordoned_brokers_get_no_new_replicas_and_keep_what_they_have(cluster) -> None:
    for node in (1, 2):
        cluster.register(node)

    def cordon(node: str, value: str | None) -> list[int]:
        cluster.machine.apply(r.ConfigChanged(r.ResourceType.BROKER, node, "cordoned.log.dirs", value))
        return [candidate.node_id for candidate in cluster.machine.candidates()]

    assert cordon("1", "*") == [2]
    cluster.create(NewTopic("t", 3, 1))
    assert [p.replicas for p in cluster.image.topic("t").partitions] == [(2,), (2,), (2,)]
    assert cordon("2", "/data") == [], "it has one directory"
    assert cordon("1", "") == [1]
    assert cordon("", "*") == [1], "a broker's own value comes first"
    assert cordon("1", None) == []
    assert cordon("", None) == [1]
    assert len(cluster.machine.replicas_on(2)) == 3

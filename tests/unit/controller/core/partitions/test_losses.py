"""A broker tells that single partitions are gone from its disk."""

from millstream_cluster.ids import NO_NODE
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


def test_what_a_broker_has_lost_it_does_not_lead_again(cluster) -> None:
    epoch = cluster.register(1)
    cluster.create(NewTopic("t", 2, 1))
    topic_id = cluster.image.topic("t").topic_id
    told = cluster.do(lose_replicas(cluster.machine, Loss(1, epoch, ((topic_id, 0), (topic_id, 7)))))
    assert (told.outcome.error, told.lost) == (ErrorCode.NONE, 1)
    lost, kept = cluster.image.topic("t").partitions
    assert (lost.leader, lost.isr, lost.replicas) == (NO_NODE, (), (1,))
    assert (kept.leader, kept.isr) == (1, (1,))
    again = lose_replicas(cluster.machine, Loss(1, epoch, ((topic_id, 0),)))
    assert (again.records, again.reply.outcome.error) == ((), ErrorCode.NONE)
    cluster.register(1)
    assert cluster.image.partition("t", 0).leader == NO_NODE


def test_only_the_present_life_of_a_broker_may_tell_a_loss(cluster) -> None:
    old = cluster.register(1)
    cluster.create(NewTopic("t", 1, 1))
    cluster.register(1)
    key = (cluster.image.topic("t").topic_id, 0)
    assert lose_replicas(cluster.machine, Loss(1, old, (key,))).reply.outcome.error is ErrorCode.STALE_BROKER_EPOCH
    unknown = lose_replicas(cluster.machine, Loss(5, old, (key,)))
    assert unknown.reply.outcome.error is ErrorCode.BROKER_ID_NOT_REGISTERED
    assert cluster.image.partition("t", 0).isr == (1,)

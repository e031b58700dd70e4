from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.decision import Decision
from millstream_controller.core.producer_ids import BLOCK_SIZE, allocate
from millstream_controller.core.shards import EPOCH_MAX, balance, claim, plan_owners
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode

OFFSETS = "__consumer_offsets"
nodes = st.lists(st.integers(0, 9), unique=True, min_size=1)


@given(st.lists(st.integers(-1, 9), max_size=40), nodes)
def test_shards_go_evenly_to_live_nodes_and_move_only_if_they_must(owners: list[int], live: list[int]) -> None:
    before = dict(enumerate(owners))
    plan = plan_owners(before, sorted(live))
    assert plan.keys() == before.keys()
    load = Counter(plan.values())
    assert set(load) <= set(live)
    if before:
        counts = [load[node] for node in live]
        assert max(counts) - min(counts) <= 1
    fair = -(-len(before) // len(live))
    stayed = sum(plan[shard] == owner for shard, owner in before.items())
    could_stay = sum(min(count, fair) for node, count in Counter(owners).items() if node in live)
    assert stayed >= could_stay - len(live)
    assert plan_owners(plan, sorted(live)) == plan


def own(cluster) -> Counter:
    cluster.do(Decision(balance(cluster.machine), None))
    topic_id = cluster.image.topic(OFFSETS).topic_id
    return Counter(cluster.image.shard(topic_id, partition).coordinator_id for partition in range(50))


def test_shards_follow_the_coordinators(cluster) -> None:
    cluster.register(1)
    cluster.create(NewTopic(OFFSETS))
    assert balance(cluster.machine) == ()
    cluster.register(10_001)
    assert own(cluster) == {10_001: 50}
    cluster.register(10_002)
    assert own(cluster) == {10_001: 25, 10_002: 25}
    assert balance(cluster.machine) == ()
    cluster.beat(10_001, want_shut_down=True)
    assert own(cluster) == {10_002: 50}
    cluster.beat(10_002, want_shut_down=True)
    assert own(cluster) == {10_002: 50}


def test_every_claim_has_an_epoch_of_its_own(cluster) -> None:
    cluster.register(1)
    cluster.register(10_001)
    cluster.create(NewTopic(OFFSETS))
    own(cluster)
    first = cluster.do(claim(cluster.machine, OFFSETS, 7, 10_001))
    second = cluster.do(claim(cluster.machine, OFFSETS, 7, 10_001))
    assert (first.producer_epoch, second.producer_epoch) == (0, 1)
    assert first.producer_id == second.producer_id
    other = cluster.do(claim(cluster.machine, OFFSETS, 8, 10_001))
    assert other.producer_id != first.producer_id


def test_a_moved_shard_keeps_its_producer_id_and_its_epochs_go_on(cluster) -> None:
    cluster.register(1)
    cluster.register(10_001)
    cluster.create(NewTopic(OFFSETS))
    own(cluster)
    first = cluster.do(claim(cluster.machine, OFFSETS, 7, 10_001))
    cluster.register(10_002)
    cluster.beat(10_001, want_shut_down=True)
    own(cluster)
    assert cluster.do(claim(cluster.machine, OFFSETS, 7, 10_001)).outcome.error is ErrorCode.NOT_COORDINATOR
    moved = cluster.do(claim(cluster.machine, OFFSETS, 7, 10_002))
    assert (moved.producer_id, moved.producer_epoch) == (first.producer_id, first.producer_epoch + 1)


def test_a_shard_whose_epochs_run_out_gets_a_new_producer_id(cluster) -> None:
    cluster.register(1)
    cluster.register(10_001)
    cluster.create(NewTopic(OFFSETS))
    own(cluster)
    shard = cluster.image.shard(OFFSETS, 0).assigned()
    last = type(shard)(shard.topic_id, 0, 10_001, shard.producer_id, EPOCH_MAX)
    cluster.do(Decision((last,), None))
    fresh = cluster.do(claim(cluster.machine, OFFSETS, 0, 10_001))
    assert fresh.producer_id > shard.producer_id  # by which the brokers tell who is deposed
    assert fresh.producer_epoch == 0


def test_a_shard_that_is_not_there_cannot_be_claimed(cluster) -> None:
    assert claim(cluster.machine, OFFSETS, 0, None).reply.outcome.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.register(1)
    cluster.create(NewTopic(OFFSETS))
    assert claim(cluster.machine, OFFSETS, 50, None).reply.outcome.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert claim(cluster.machine, OFFSETS, 0, None).reply.outcome.error is ErrorCode.NOT_COORDINATOR


def test_producer_ids_are_never_given_twice(cluster) -> None:
    epoch = cluster.register(1)
    first = cluster.do(allocate(cluster.machine, 1, epoch))
    second = cluster.do(allocate(cluster.machine, 1, epoch))
    assert second.start >= first.start + BLOCK_SIZE
    assert allocate(cluster.machine, 1, epoch - 1).reply.outcome.error is ErrorCode.STALE_BROKER_EPOCH
    assert allocate(cluster.machine, 2, epoch).reply.outcome.error is ErrorCode.BROKER_ID_NOT_REGISTERED

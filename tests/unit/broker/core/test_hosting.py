from uuid import UUID

from millstream_broker.core.hosting import Create, Delete, SetAside, Touched, Update, plan_changes, plan_start
from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image

OURS, THEIRS, OLD = UUID(int=10), UUID(int=11), UUID(int=9)


def created(topic_id: UUID, partition: int, node: int) -> r.PartitionCreated:
    nodes = (NodeId(node),)
    return r.PartitionCreated(topic_id, partition, nodes, nodes, NodeId(-1), LeaderEpoch(0), PartitionEpoch(0))


RECORDS: list[r.MetadataRecord] = [
    r.TopicCreated("orders", OURS, False),
    created(OURS, 0, 1),
    created(OURS, 1, 2),
    r.TopicCreated("others", THEIRS, False),
    created(THEIRS, 0, 2),
]


def image(records: list[r.MetadataRecord]) -> Image:
    result = Image()
    for offset, record in enumerate(records):
        result.apply(record, offset)
    return result


def test_only_partitions_assigned_to_this_broker_get_a_log() -> None:
    now = image(RECORDS)
    touched = Touched()
    touched.add(RECORDS)
    partition = now.partition("orders", 0)
    assert partition is not None
    assert plan_changes(touched, now, node_id=1, hosted=()) == [Create(partition)]
    assert plan_changes(touched, now, node_id=1, hosted={(OURS, 0)}) == [Update(partition)]


def test_a_deleted_topics_log_is_deleted_by_id() -> None:
    records = [*RECORDS, r.TopicDeleted(OURS)]
    touched = Touched()
    touched.add(records)
    assert plan_changes(touched, image(records), node_id=1, hosted={(OURS, 0), (OLD, 0)}) == [Delete((OURS, 0))]


def test_at_the_start_unexplained_logs_are_set_aside_and_deletions_carried_out() -> None:
    now = image(RECORDS)
    gone = UUID(int=8)
    partition = now.partition("orders", 0)
    assert partition is not None
    steps = plan_start({gone}, now, node_id=1, hosted={(OLD, 0): 1, (gone, 3): 1, (OURS, 0): 1, (THEIRS, 0): 1})
    assert steps == [SetAside((OLD, 0)), Delete((gone, 3)), Update(partition), SetAside((THEIRS, 0))]


def test_a_topic_created_again_under_its_name_is_another_one() -> None:
    new = UUID(int=12)
    records = [*RECORDS, r.TopicDeleted(OURS), r.TopicCreated("orders", new, False), created(new, 0, 1)]
    touched = Touched()
    touched.add(records[len(RECORDS) :])
    now = image(records)
    partition = now.partition(new, 0)
    assert partition is not None
    assert plan_changes(touched, now, node_id=1, hosted={(OURS, 0)}) == [Delete((OURS, 0)), Create(partition)]

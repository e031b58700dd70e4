"""A partition on the move, as clients see it: by ListPartitionReassignments and by DescribeTopicPartitions."""

from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.answers.describe_topic_partitions import describe_topic_partitions
from millstream_cluster.answers.list_partition_reassignments import list_partition_reassignments
from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_wire.messages import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsRequest,
)
from millstream_wire.messages.describe_topic_partitions import TopicRequest
from millstream_wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

ORDERS, BILLS = UUID(int=10), UUID(int=11)


@pytest.fixture
def image() -> Image:
    records: list[r.MetadataRecord] = [
        r.MetadataVersionSet(NEWEST),
        r.TopicCreated("orders", ORDERS, internal=False),
        r.PartitionCreated(ORDERS, 0, (1,), (1,), -1, 0, 0),
        r.PartitionCreated(ORDERS, 1, (1, 2, 3), (1,), -1, 0, 0, adding_replicas=(3,), removing_replicas=(1,)),
        r.TopicCreated("bills", BILLS, internal=False),
        r.PartitionCreated(BILLS, 0, (1, 2, 3), (1,), -1, 0, 0, eligible_leader_replicas=(2,), last_known_elr=(3,)),
    ]
    return Image.of(records, len(records) - 1)


MOVING = OngoingTopicReassignment(
    name="orders",
    partitions=[
        OngoingPartitionReassignment(partition_index=1, replicas=[1, 2, 3], adding_replicas=[3], removing_replicas=[1])
    ],
)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (None, [MOVING]),
        ([], []),
        ([("orders", [0, 1, 9, -1])], [MOVING]),
        ([("orders", [0]), ("bills", [0]), ("nothing", [0])], []),
    ],
)
def test_what_is_on_the_move_is_listed(image: Image, asked, told) -> None:  # type: ignore[no-untyped-def]
    topics = asked and [ListPartitionReassignmentsTopics(name=name, partition_indexes=list(ps)) for name, ps in asked]
    assert list_partition_reassignments(image, ListPartitionReassignmentsRequest(topics=topics)).topics == told


def described(image: Image, topic: str) -> DescribeTopicPartitionsResponse:
    return describe_topic_partitions(image, DescribeTopicPartitionsRequest(topics=[TopicRequest(name=topic)]))


def test_eligible_leaders_are_described(image: Image) -> None:
    (partition,) = described(image, "bills").topics[0].partitions
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([2], [3])
    assert [each.eligible_leader_replicas for each in described(image, "orders").topics[0].partitions] == [[], []]

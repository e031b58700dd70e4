"""When what a request changed about topics counts as seen."""

from uuid import UUID

import pytest

from millstream_broker.core.topic_changes import TopicChanges
from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from millstream_wire.messages.create_partitions import CreatePartitionsTopic, CreatePartitionsTopicResult
from millstream_wire.messages.create_topics import CreatableTopicResult
from millstream_wire.messages.delete_topics import DeletableTopicResult
from millstream_wire.schema import ZERO_UUID, Request, Response

HERE, THERE = NodeId(1), NodeId(2)
ORDERS = UUID(int=7)


def image_of(*records: r.MetadataRecord) -> Image:
    return Image.of([r.ClusterCreated("c"), *records], len(records))


def orders(*homes: NodeId) -> list[r.MetadataRecord]:
    partitions = [
        r.PartitionCreated(ORDERS, number, (home,), (home,), home, LeaderEpoch(0), PartitionEpoch(0))
        for number, home in enumerate(homes)
    ]
    return [r.TopicCreated("orders", ORDERS, False), *partitions]


def answered(request: Request, answer: Response | None, image: Image) -> TopicChanges:
    changes = TopicChanges.asked_by(request, image)
    changes.on_answer(request, answer)
    return changes


def created(error: ErrorCode = ErrorCode.NONE, *, validate_only: bool = False) -> TopicChanges:
    answer = CreateTopicsResponse(topics=[CreatableTopicResult(name="orders", error_code=error)])
    return answered(CreateTopicsRequest(validate_only=validate_only), answer, image_of())


def is_seen(changes: TopicChanges, image: Image, *open_partitions: int) -> bool:
    return changes.are_seen(image, HERE, lambda key: key[1] in open_partitions)


def test_a_topic_is_there_once_its_partitions_of_this_broker_are_open() -> None:
    changes = created()
    assert not is_seen(changes, image_of())
    there = image_of(*orders(HERE, THERE, HERE))
    assert not is_seen(changes, there)
    assert not is_seen(changes, there, 0)
    assert is_seen(changes, there, 0, 2)


def test_a_topic_whose_creation_passed_by_is_not_waited_for_when_it_is_gone_again() -> None:
    changes = created()
    changes.on_records([*orders(HERE), r.TopicDeleted(ORDERS)])
    assert is_seen(changes, image_of())


@pytest.mark.parametrize(
    "changes", [created(ErrorCode.TOPIC_ALREADY_EXISTS), created(validate_only=True)], ids=["refused", "only validated"]
)
def test_what_was_not_done_is_not_waited_for(changes: TopicChanges) -> None:
    assert is_seen(changes, image_of())


def test_a_topic_that_grew_has_all_its_partitions() -> None:
    request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="orders", count=2)])
    answer = CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="orders")])
    before = image_of(*orders(HERE))
    changes = answered(request, answer, before)
    assert not is_seen(changes, before, 0)
    grown = image_of(*orders(HERE, HERE))
    assert not is_seen(changes, grown, 0)
    assert is_seen(changes, grown, 0, 1)


@pytest.mark.parametrize("topic_id", [ORDERS, ZERO_UUID], ids=["by id", "by the name that it had"])
def test_a_deleted_topic_is_gone_though_another_has_its_name(topic_id: UUID) -> None:
    request = DeleteTopicsRequest(topic_names=["orders"])
    answer = DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders", topic_id=topic_id)])
    before = image_of(*orders(HERE))
    changes = answered(request, answer, before)
    assert not is_seen(changes, before, 0)
    assert is_seen(changes, image_of())
    assert is_seen(changes, image_of(r.TopicCreated("orders", UUID(int=8), False)))


def test_without_an_answer_nothing_is_waited_for() -> None:
    assert is_seen(answered(CreateTopicsRequest(), None, image_of()), image_of())


def test_two_requests_that_ask_the_same_are_two() -> None:
    """Each is taken off the list of those that wait when it ends, and by then another may look like it (seed 47)."""
    first, second = (TopicChanges.asked_by(CreateTopicsRequest(), image_of()) for _ in range(2))
    waiting = [first, second]
    waiting.remove(second)
    assert waiting[0] is first

"""Whether what a request changed about topics can be seen on this broker: a pure question to its metadata and its partitions.

Kafka answers CreateTopics as soon as the controller has decided. A client that produces right then may reach a broker that
does not know the topic yet, and with acks=0 nobody tells it that its records were dropped.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_cluster import records as r
from millstream_cluster.image import Image
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from millstream_wire.schema import ZERO_UUID, Request, Response

AtHome = Callable[[ReplicaKey], bool]
"""Whether a partition that is assigned to this broker is open here, or will not be: its disk refused it."""


@dataclass(frozen=True, slots=True)
class Made:
    """A topic that has at least so many partitions."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Gone:
    topic_id: UUID


@dataclass(slots=True, eq=False)
class TopicChanges:
    """What one request should have changed.

    It begins before the controller is asked: a topic that is deleted again at once may never be seen, but its creation passes by.
    """

    ids_before: dict[str, UUID]
    """Of the topics that the request names and that exist when it begins; old versions of DeleteTopics answer names only."""
    passed: set[str] = field(default_factory=set)
    """Names, of those that are waited for, under which a topic was created since the request began."""
    expected: list[Made | Gone] = field(default_factory=list)
    """Empty until the controller has answered, then what it says it did."""

    @staticmethod
    def asked_by(request: Request[Any], image: Image) -> "TopicChanges":
        topics = {name: topic.topic_id for name in _names(request) if (topic := image.topic(name)) is not None}
        return TopicChanges(topics)

    def on_records(self, records: Iterable[r.MetadataRecord]) -> None:
        self.passed.update(record.name for record in records if isinstance(record, r.TopicCreated))

    def on_answer(self, request: Request[Any], answer: Response | None) -> None:
        """Note what was done; what was refused changes nothing."""
        match request, answer:
            case CreateTopicsRequest(validate_only=False), CreateTopicsResponse():
                self.expected += [Made(each.name, 1) for each in answer.topics if each.error_code == ErrorCode.NONE]
            case CreatePartitionsRequest(validate_only=False), CreatePartitionsResponse():
                grown = {each.name for each in answer.results if each.error_code == ErrorCode.NONE}
                self.expected += [Made(each.name, each.count) for each in request.topics if each.name in grown]
            case DeleteTopicsRequest(), DeleteTopicsResponse():
                for each in answer.responses:
                    known = each.topic_id if each.topic_id != ZERO_UUID else self.ids_before.get(each.name or "")
                    if each.error_code == ErrorCode.NONE and known is not None:
                        self.expected.append(Gone(known))
            case _:
                pass

    def are_seen(self, image: Image, node_id: int, at_home: AtHome) -> bool:
        return all(self._is_seen(change, image, node_id, at_home) for change in self.expected)

    def _is_seen(self, change: Made | Gone, image: Image, node_id: int, at_home: AtHome) -> bool:
        if isinstance(change, Gone):
            return image.topic(change.topic_id) is None
        topic = image.topic(change.topic)
        if topic is None:
            return change.topic in self.passed
        own = (each for each in topic.partitions if node_id in each.replicas)
        return len(topic.partitions) >= change.partitions and all(
            at_home((topic.topic_id, each.partition)) for each in own
        )


def _names(request: Request[Any]) -> list[str]:
    match request:
        case DeleteTopicsRequest():
            return [*request.topic_names, *(each.name for each in request.topics if each.name is not None)]
        case _:
            return []

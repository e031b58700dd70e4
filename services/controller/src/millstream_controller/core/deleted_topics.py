"""DeleteTopics as a decision: by name or by id, an answer per topic, never one that is protected."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.decision import Decision
from millstream_cluster.members import Topic
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class TopicRef:
    """A topic as a request names it: by name, or by id, never both."""

    name: str | None
    topic_id: UUID | None


NAMELESS = TopicRef(None, None)


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str | None
    topic_id: UUID | None
    outcome: Outcome


_NAMELESS = Outcome(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
_GIVEN_TWICE = Outcome(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")


def delete_topics(
    machine: ControllerMachine, wanted: Sequence[TopicRef]
) -> Decision[r.MetadataRecord, tuple[DeletedTopic, ...]]:
    """Delete those topics that exist and may be deleted."""
    named = Counter(wanted)
    given_ids = {ref.topic_id for ref in wanted if ref.topic_id is not None}
    by_name = {topic.topic_id for ref in named if ref.name is not None and (topic := machine.image.topic(ref.name))}
    records: list[r.MetadataRecord] = []
    answers: list[DeletedTopic] = []
    for ref, times in named.items():
        if ref == NAMELESS:
            answers += [DeletedTopic(None, None, _NAMELESS)] * times
            continue
        if ref.topic_id in by_name and ref.name is None:
            continue  # answered where it is named
        try:
            if times > 1:
                what = "name" if ref.name is not None else "id"
                raise Refused(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")
            topic = _find(machine, ref)
            if ref.name is not None and topic.topic_id in given_ids:
                answers.append(DeletedTopic(topic.name, topic.topic_id, _GIVEN_TWICE))
                continue
            _check(machine, topic)
            records.append(r.TopicDeleted(topic.topic_id))
            answers.append(DeletedTopic(topic.name, topic.topic_id, DONE))
        except Refused as refused:
            answers.append(DeletedTopic(ref.name, ref.topic_id, Outcome.of(refused)))
    return Decision(tuple(records), tuple(answers))


def _find(machine: ControllerMachine, ref: TopicRef) -> Topic:
    if ref.topic_id is None:
        by_name = machine.image.topic(ref.name or "")
        if by_name is None:
            message = "This server does not host this topic-partition."
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        return by_name
    if ref.name is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    by_id = machine.image.topic(ref.topic_id)
    if by_id is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return by_id


def _check(machine: ControllerMachine, topic: Topic) -> None:
    if not machine.settings.delete_topic_enable:
        raise Refused(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    configs = EffectiveConfigs(machine.image, machine.settings.static)
    if configs.topic_value(topic.name, "deletion.protection") is True:
        message = f"topic {topic.name!r} is protected: set deletion.protection to false first"
        raise Refused(ErrorCode.POLICY_VIOLATION, message)

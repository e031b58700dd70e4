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


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str | None
    topic_id: UUID | None
    outcome: Outcome


def delete_topics(
    machine: ControllerMachine, wanted: Sequence[TopicRef]
) -> Decision[r.MetadataRecord, tuple[DeletedTopic, ...]]:
    """Delete those topics that exist and may be deleted."""
    found = {ref: _find(machine, ref) for ref in wanted}
    named = Counter(ref for ref in wanted)
    twice = Counter(topic.topic_id for topic in found.values() if isinstance(topic, Topic))
    records: list[r.MetadataRecord] = []
    answers: list[DeletedTopic] = []
    for ref, topic in found.items():
        try:
            if named[ref] > 1 or (isinstance(topic, Topic) and twice[topic.topic_id] > 1):
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this topic more than once")
            if isinstance(topic, Refused):
                raise topic
            _check(machine, topic)
            records.append(r.TopicDeleted(topic.topic_id))
            answers.append(DeletedTopic(topic.name, topic.topic_id, DONE))
        except Refused as refused:
            answers.append(DeletedTopic(ref.name, ref.topic_id, Outcome.of(refused)))
    return Decision(tuple(records), tuple(answers))


def _find(machine: ControllerMachine, ref: TopicRef) -> Topic | Refused:
    if (ref.name is None) == (ref.topic_id is None):
        return Refused(ErrorCode.INVALID_REQUEST, "a topic must be named by its name or by its id, not by both")
    if ref.topic_id is not None:
        by_id = machine.image.topic(ref.topic_id)
        return by_id or Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    by_name = machine.image.topic(ref.name or "")
    return by_name or Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {ref.name!r} does not exist")


def _check(machine: ControllerMachine, topic: Topic) -> None:
    if not machine.settings.delete_topic_enable:
        raise Refused(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    configs = EffectiveConfigs(machine.image, machine.settings.static)
    if configs.topic_value(topic.name, "deletion.protection") is True:
        message = f"topic {topic.name!r} is protected: set deletion.protection to false first"
        raise Refused(ErrorCode.POLICY_VIOLATION, message)

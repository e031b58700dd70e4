"""DeleteTopics as a decision: by name or by id, an answer per topic, never one that is protected."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.decision import Decision
from millstream_cluster.members import Topic
from millstream_cluster.quotas.mutation_quota import UNLIMITED, Allowance
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused, charge
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TopicRef:
    """A topic as a request names it: by name or by id; what has both, or neither, is refused."""

    name: str | None
    topic_id: UUID | None


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str | None
    topic_id: UUID | None
    outcome: Outcome


_NEITHER = Outcome(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
_BOTH = Outcome(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
_NAME_TWICE = Outcome(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_ID_TWICE = Outcome(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
_GIVEN_TWICE = Outcome(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
_NO_NAME = Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
_NO_ID = Outcome(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")


def delete_topics(
    machine: ControllerMachine, wanted: Sequence[TopicRef], allowance: Allowance = UNLIMITED
) -> Decision[r.MetadataRecord, tuple[DeletedTopic, ...]]:
    """Delete those topics that exist and may be deleted; one that is given by name and by id is not."""
    answers = [DeletedTopic(None, None, _NEITHER) for ref in wanted if ref.name is None and ref.topic_id is None]
    answers += [DeletedTopic(ref.name, ref.topic_id, _BOTH) for ref in wanted if ref.name is not None and ref.topic_id]
    names = Counter(ref.name for ref in wanted if ref.name is not None and ref.topic_id is None)
    ids = Counter(ref.topic_id for ref in wanted if ref.name is None and ref.topic_id is not None)
    answers += [DeletedTopic(name, None, _NAME_TWICE) for name, times in names.items() if times > 1]
    answers += [DeletedTopic(None, topic_id, _ID_TWICE) for topic_id, times in ids.items() if times > 1]
    found: dict[UUID, Topic] = {}
    given_twice = {topic_id for topic_id, times in ids.items() if times > 1}
    for topic_id in (topic_id for topic_id, times in ids.items() if times == 1):
        topic = machine.image.topic(topic_id)
        if topic is None:
            answers.append(DeletedTopic(None, topic_id, _NO_ID))
        else:
            found[topic_id] = topic
    for name in (name for name, times in names.items() if times == 1):
        topic = machine.image.topic(name)
        if topic is None:
            answers.append(DeletedTopic(name, None, _NO_NAME))
        elif topic.topic_id in found or topic.topic_id in given_twice:
            found.pop(topic.topic_id, None)  # answered here, under its name
            answers.append(DeletedTopic(name, topic.topic_id, _GIVEN_TWICE))
        else:
            found[topic.topic_id] = topic
    records: list[r.MetadataRecord] = []
    for topic in found.values():
        outcome = _outcome(machine, topic, allowance)
        if outcome is DONE:
            records.append(r.TopicDeleted(topic.topic_id))
        answers.append(DeletedTopic(topic.name, topic.topic_id, outcome))
    return Decision(tuple(records), _as_asked(wanted, answers))


def _as_asked(wanted: Sequence[TopicRef], answers: list[DeletedTopic]) -> tuple[DeletedTopic, ...]:
    """In the order of the request."""
    place: dict[str | UUID | None, int] = {}
    for at, ref in enumerate(wanted):
        for key in (ref.name, ref.topic_id):
            if key is not None:
                place.setdefault(key, at)
    last = len(wanted)
    return tuple(sorted(answers, key=lambda each: min(place.get(each.name, last), place.get(each.topic_id, last))))


def leaves_some(wanted: Sequence[TopicRef]) -> bool:
    """Whether the controller has to look at any: not at duplicates, nor at what has both a name and an id or neither."""
    named = Counter(ref for ref in wanted if (ref.name is None) != (ref.topic_id is None))
    return 1 in named.values()


def _outcome(machine: ControllerMachine, topic: Topic, allowance: Allowance) -> Outcome:
    try:
        _check(machine, topic)
        charge(allowance, len(topic.partitions))
    except Refused as refused:
        return Outcome.of(refused)
    return DONE


def _check(machine: ControllerMachine, topic: Topic) -> None:
    if not machine.settings.delete_topic_enable:
        raise Refused(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    configs = EffectiveConfigs(machine.image, machine.settings.static)
    if configs.topic_value(topic.name, "deletion.protection") is True:
        message = f"topic {topic.name!r} is protected: set deletion.protection to false first"
        raise Refused(ErrorCode.POLICY_VIOLATION, message)

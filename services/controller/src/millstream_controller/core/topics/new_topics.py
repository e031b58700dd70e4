"""CreateTopics as a decision: Kafka's checks in Kafka's order, an answer per topic, records for those that pass."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.configs import ConfigEntry, EffectiveConfigs
from millstream_cluster.coordinator_topics import MIN_ISR, NEEDED_CONFIGS, CoordinatorTopic
from millstream_cluster.decision import Decision
from millstream_cluster.ids import (
    COORDINATOR_TOPICS,
    METADATA_TOPIC,
    NodeId,
)
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.placement import Candidate
from millstream_cluster.quotas.mutation_quota import UNLIMITED, Allowance
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.new_partitions import check_assignments, first_state, place_replicas
from millstream_controller.core.refusal import DONE, Outcome, Refused, charge
from millstream_controller.core.topics.topic_configs import check_configs, check_topic_together
from millstream_controller.core.topics.topic_names import INTERNAL_TOPICS, check_topic_name, collision_key
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic as CreateTopics asks for it; -1 leaves a number to the controller, assignments give both by hand."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """The answer for one topic; what it was created with is set where it succeeded."""

    name: str
    outcome: Outcome
    topic_id: UUID | None = None
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    configs: Mapping[str, ConfigEntry] | None = None


def create_topics(
    machine: ControllerMachine,
    wanted: Sequence[NewTopic],
    *,
    validate_only: bool,
    new_id: Callable[[], UUID],
    allowance: Allowance = UNLIMITED,
) -> Decision[r.MetadataRecord, tuple[CreatedTopic, ...]]:
    """Create those topics that pass every check; `validate_only` answers the same and creates none."""
    duplicates = {name for name, count in Counter(topic.name for topic in wanted).items() if count > 1}
    batch = _Batch(machine, new_id, allowance)
    answers: list[CreatedTopic] = []
    for topic in wanted:
        if topic.name in duplicates:
            continue
        try:
            answers.append(batch.create(topic))
        except Refused as refused:
            answers.append(CreatedTopic(topic.name, Outcome.of(refused)))
    named_twice = Outcome(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    answers += [CreatedTopic(name, named_twice) for name in sorted(duplicates)]
    return Decision(() if validate_only else tuple(batch.records), tuple(answers))


def leaves_some(wanted: Sequence[NewTopic]) -> bool:
    """Whether the controller has to look at any: not at duplicates, nor at what is never created."""
    named = Counter(topic.name for topic in wanted)
    return any(times == 1 and name != METADATA_TOPIC for name, times in named.items())


class _Batch:
    """The topics of one request: later ones see what earlier ones took."""

    def __init__(self, machine: ControllerMachine, new_id: Callable[[], UUID], allowance: Allowance) -> None:
        self.records: list[r.MetadataRecord] = []
        self._allowance = allowance
        self._machine = machine
        self._new_id = new_id
        self._candidates = machine.candidates()
        self._electable = Electorate(machine).electable
        self._names: dict[str, str] = {}

    def create(self, topic: NewTopic) -> CreatedTopic:
        """The answer for one topic, its records added; Refused if it cannot be."""
        self._check_name(topic.name)
        configs = _creation_configs(topic)
        check_configs(r.ResourceType.TOPIC, configs)
        resolve = EffectiveConfigs(self._machine.image, self._machine.settings.static).topic_with
        check_topic_together(resolve(configs))
        replicas = self._replicas(topic)
        own = self._machine.settings.coordinator_topics.of(topic.name)
        if own is not None and len(replicas[0]) > 1:
            configs.setdefault(MIN_ISR, str(own.min_isr_of(len(replicas[0]))))
        charge(self._allowance, len(replicas))
        topic_id = self._new_id()
        self.records.append(r.TopicCreated(topic.name, topic_id, topic.name in INTERNAL_TOPICS))
        self.records += [first_state(topic_id, number, nodes, self._electable) for number, nodes in enumerate(replicas)]
        self.records += [
            r.ConfigChanged(r.ResourceType.TOPIC, topic.name, key, value) for key, value in configs.items()
        ]
        self._names[collision_key(topic.name)] = topic.name
        self._candidates = _with(self._candidates, replicas)
        return CreatedTopic(topic.name, DONE, topic_id, len(replicas), len(replicas[0]), resolve(configs))

    def _check_name(self, name: str) -> None:
        if name == METADATA_TOPIC:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
        check_topic_name(name)
        if self._machine.image.topic(name) is not None:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._names.get(collision_key(name)) or self._machine.colliding_topic(name)
        if other is not None:
            message = f"Topic '{name}' collides with existing topic: {other}"
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, message)

    def _replicas(self, topic: NewTopic) -> list[tuple[NodeId, ...]]:
        if topic.assignments:
            return self._assigned(topic)
        settings = self._machine.settings
        if topic.replication_factor == 0 or topic.replication_factor < DEFAULT:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        if topic.partitions == 0 or topic.partitions < DEFAULT:
            message = "Number of partitions was set to an invalid non-positive value."
            raise Refused(ErrorCode.INVALID_PARTITIONS, message)
        partitions, factor = topic.partitions, topic.replication_factor
        own = settings.coordinator_topics.of(topic.name)
        if partitions == DEFAULT:
            partitions = settings.num_partitions if own is None else own.partitions
        if factor == DEFAULT:
            factor = settings.default_replication_factor if own is None else self._factor(own)
        self._check_size(partitions)
        return place_replicas(self._machine, partitions, factor, self._candidates)

    def _factor(self, own: CoordinatorTopic) -> int:
        several = self._machine.image.metadata_version >= MetadataVersion.RELEASE_0_2
        return own.replicas_among(len(self._candidates) if several else 1)

    def _assigned(self, topic: NewTopic) -> list[tuple[NodeId, ...]]:
        for number, what in ((topic.replication_factor, "replication factor"), (topic.partitions, "numPartitions")):
            if number != DEFAULT:
                message = f"A manual partition assignment was specified, but {what} was not set to -1."
                raise Refused(ErrorCode.INVALID_REQUEST, message)
        by_number = dict(topic.assignments)
        for number, times in Counter(number for number, _ in topic.assignments).items():
            if times > 1:
                message = f"Found multiple manual partition assignments for partition {number}"
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        self._check_size(len(by_number))
        replicas = dict(zip(by_number, check_assignments(list(by_number.values()), self._machine), strict=True))
        if by_number.keys() != set(range(len(by_number))):
            message = "partitions should be a consecutive 0-based integer sequence"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        return [replicas[number] for number in range(len(by_number))]

    def _check_size(self, partitions: int) -> None:
        if len(self.records) + partitions > RECORDS_MAX:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _creation_configs(topic: NewTopic) -> dict[str, str]:
    unset = ",".join(key for key, value in topic.configs if value is None)
    if unset:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {unset}")
    needed = NEEDED_CONFIGS if topic.name in COORDINATOR_TOPICS else {}
    return {**needed, **{key: value for key, value in topic.configs if value is not None}}


def _with(candidates: Sequence[Candidate], replicas: Sequence[tuple[NodeId, ...]]) -> list[Candidate]:
    carried = Counter(node for nodes in replicas for node in nodes)
    led = Counter(nodes[0] for nodes in replicas)
    return [
        Candidate(c.node_id, c.rack, c.replicas + carried[c.node_id], c.leaders + led[c.node_id]) for c in candidates
    ]

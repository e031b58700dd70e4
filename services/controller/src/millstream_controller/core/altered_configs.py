"""IncrementalAlterConfigs and AlterConfigs as decisions: an answer per resource, all of a resource's changes or none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.configs import (
    TABLES,
    ConfigError,
    ConfigKey,
    ConfigType,
    EffectiveConfigs,
    UpdateMode,
    check_group,
)
from millstream_cluster.coordinator_topics import MIN_ISR
from millstream_cluster.decision import Decision
from millstream_cluster.records import ResourceType
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.least_isr import changed_with, check_least_isr
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_controller.core.topics.topic_configs import check_configs, check_topic_together
from millstream_controller.core.topics.topic_names import check_topic_name
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

_TYPES = {
    2: ResourceType.TOPIC,
    4: ResourceType.BROKER,
    16: ResourceType.CLIENT_METRICS,
    32: ResourceType.GROUP,
}


class Operation(IntEnum):
    """What to do with a key, as IncrementalAlterConfigs numbers it."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Resource:
    """What is configured; `type` None is one of which there is nothing to change here, whatever its `number`."""

    type: ResourceType | None
    name: str
    number: int = 0

    @staticmethod
    def of(number: int, name: str) -> "Resource":
        """A resource as the protocol numbers its type."""
        return Resource(_TYPES.get(number), name, number)


@dataclass(frozen=True, slots=True)
class Change:
    key: str
    operation: int
    value: str | None


Answers = tuple[tuple[Resource, Outcome], ...]
Values = tuple[tuple[str, str | None], ...]
"""Keys and values as a request has them: one key may be there twice, which is refused."""


def alter_incrementally(
    machine: ControllerMachine, wanted: Sequence[tuple[Resource, tuple[Change, ...]]], *, validate_only: bool
) -> Decision[r.MetadataRecord, Answers]:
    """Change single keys; those that are not named stay."""
    named = Counter(resource for resource, _ in wanted)
    records: list[r.ConfigChanged] = []
    answers: dict[Resource, Outcome] = {}
    for resource, changes in wanted:
        try:
            if named[resource] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            records += _changed(machine, resource, changes)
            answers[resource] = DONE
        except Refused as refused:
            answers[resource] = Outcome.of(refused)
    partitions = list(islice(changed_with(machine, records), RECORDS_MAX + 1))
    if len(partitions) > RECORDS_MAX:
        message = (
            f"more than {RECORDS_MAX} partitions have too few replicas in sync: try again when some have recovered"
        )
        too_many = Outcome(ErrorCode.POLICY_VIOLATION, message)
        return Decision((), tuple((resource, too_many) for resource in answers))
    return Decision(() if validate_only else (*partitions, *records), tuple(answers.items()))


def alter_whole(
    machine: ControllerMachine, wanted: Sequence[tuple[Resource, Values]], *, validate_only: bool
) -> Decision[r.MetadataRecord, Answers]:
    """Set a resource's configs to exactly these; keys that are not named go back to their defaults."""
    incremental = []
    for resource, values in wanted:
        changes = [Change(key, Operation.SET, value) for key, value in values]
        if resource.type is not None:
            unnamed = machine.image.config(resource.type, resource.name).keys() - {key for key, _ in values}
            changes += [Change(key, Operation.DELETE, None) for key in sorted(unnamed)]
        incremental.append((resource, tuple(changes)))
    return alter_incrementally(machine, incremental, validate_only=validate_only)


def _changed(machine: ControllerMachine, resource: Resource, changes: Sequence[Change]) -> list[r.ConfigChanged]:
    """What changes, once every check passed: Kafka's, in Kafka's order."""
    _check_changes(changes)
    kind = _check_type(machine, resource)
    present = machine.image.config(kind, resource.name)
    values = {change.key: _new_value(kind, present, change) for change in changes}
    _check_name(kind, resource.name)
    _check_values(kind, values)
    if kind is ResourceType.BROKER and MIN_ISR in values:
        check_least_isr(machine, resource.name, values[MIN_ISR])
    _check_together(machine, kind, {**present, **values})
    if kind is ResourceType.TOPIC and machine.image.topic(resource.name) is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
    return [
        r.ConfigChanged(kind, resource.name, key, value) for key, value in values.items() if value != present.get(key)
    ]


def _check_changes(changes: Sequence[Change]) -> None:
    if len({change.key for change in changes}) < len(changes):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    unset = [change.key for change in changes if change.value is None and change.operation != Operation.DELETE]
    if unset:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(unset)}")


def _check_type(machine: ControllerMachine, resource: Resource) -> ResourceType:
    if resource.type is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.number}")
    if resource.type is ResourceType.BROKER and resource.name:
        if not (resource.name.isascii() and resource.name.removeprefix("-").isdigit()):
            raise Refused(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {resource.name}")
        if int(resource.name) not in machine.image.nodes:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Node {resource.name} is not registered")
    return resource.type


def _check_name(kind: ResourceType, name: str) -> None:
    if kind is ResourceType.TOPIC and name:
        check_topic_name(name)
    nameless = {
        ResourceType.TOPIC: "Default topic resources are not allowed.",
        ResourceType.GROUP: "Default group resources are not allowed.",
        ResourceType.CLIENT_METRICS: "Subscription name can't be empty",
    }
    if not name and kind in nameless:
        raise Refused(ErrorCode.INVALID_REQUEST, nameless[kind])


def _check_values(kind: ResourceType, values: Mapping[str, str | None]) -> None:
    given = {key: value for key, value in values.items() if value is not None}
    if kind is ResourceType.BROKER:
        read_only = [key for key in given if key in TABLES[kind] and _is_read_only(TABLES[kind][key])]
        if read_only:
            message = f"Cannot update these configs dynamically: [{', '.join(read_only)}]"
            raise Refused(ErrorCode.INVALID_REQUEST, message)
        # Kafka takes any name, and tools set what only Kafka's brokers read
        given = {key: value for key, value in given.items() if key in TABLES[kind]}
    check_configs(kind, given)


def _is_read_only(key: ConfigKey) -> bool:
    return key.update_mode is UpdateMode.READ_ONLY


def _check_together(machine: ControllerMachine, kind: ResourceType, merged: Mapping[str, str | None]) -> None:
    """Values that are good by themselves may contradict each other."""
    static = machine.settings.static
    after = {key: value for key, value in merged.items() if value is not None}
    if kind is ResourceType.TOPIC:
        check_topic_together(EffectiveConfigs(machine.image, static).topic_with(after))
    if kind is ResourceType.GROUP:
        try:
            check_group(after, static)
        except ConfigError as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def _new_value(kind: ResourceType, present: Mapping[str, str], change: Change) -> str | None:
    if change.operation == Operation.DELETE:
        return None  # of any key: tools take back what they never set, and older releases had other keys
    assert change.value is not None
    if change.operation == Operation.SET:
        return change.value
    if change.operation not in (Operation.APPEND, Operation.SUBTRACT):
        raise Refused(ErrorCode.INVALID_REQUEST, f"{change.operation} is no operation on configs")
    return _combined(_list_key(kind, change), present, change)


def _list_key(kind: ResourceType, change: Change) -> ConfigKey:
    key = TABLES[kind].get(change.key)
    if key is not None and key.type is ConfigType.LIST and kind is not ResourceType.CLIENT_METRICS:
        return key
    operation = Operation(change.operation).name
    message = f"Can't {operation} to key {change.key} because its type is not LIST."
    if kind is ResourceType.BROKER:
        message = f"Config value {operation.lower()} is not allowed for config key: {change.key}"
        if key is None:
            message = f"Unknown config name: {change.key}"
    raise Refused(ErrorCode.INVALID_CONFIG, message)


def _combined(key: ConfigKey, present: Mapping[str, str], change: Change) -> str:
    items = _items(present.get(key.name, key.default))
    given = _items(change.value)
    if change.operation == Operation.SUBTRACT:
        return ",".join(item for item in items if item not in given)
    if not given:
        unfit = key.resource_type is ResourceType.BROKER
        code = ErrorCode.INVALID_REQUEST if unfit else ErrorCode.INVALID_CONFIG
        raise Refused(code, f"Configuration '{key.name}' values must not be empty.")
    return ",".join([*items, *(item for item in given if item not in items)])


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]

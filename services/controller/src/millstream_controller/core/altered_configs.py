"""IncrementalAlterConfigs and AlterConfigs as decisions: an answer per resource, all of a resource's changes or none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

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
from millstream_cluster.decision import Decision
from millstream_cluster.records import ResourceType
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_controller.core.topic_configs import check_config, check_topic_together
from millstream_controller.core.topic_names import check_topic_name
from millstream_wire.errors import ErrorCode

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
    records: list[r.MetadataRecord] = []
    answers: dict[Resource, Outcome] = {}
    for resource, changes in wanted:
        try:
            if named[resource] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            kind = _check_resource(machine, resource)
            present = machine.image.config(kind, resource.name)
            changed = _changed(kind, resource.name, present, changes)
            _check_together(machine, kind, present, changed)
            records += changed
            answers[resource] = DONE
        except Refused as refused:
            answers[resource] = Outcome.of(refused)
    return Decision(() if validate_only else tuple(records), tuple(answers.items()))


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


def _check_resource(machine: ControllerMachine, resource: Resource) -> ResourceType:
    match resource.type:
        case None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.number}")
        case ResourceType.TOPIC:
            if not resource.name:
                raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            check_topic_name(resource.name)
            if machine.image.topic(resource.name) is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        case ResourceType.BROKER:
            if resource.name and not (resource.name.isascii() and resource.name.isdigit()):
                raise Refused(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {resource.name}")
            if resource.name and int(resource.name) not in machine.image.nodes:
                raise Refused(ErrorCode.INVALID_REQUEST, f"Node {resource.name} is not registered")
        case ResourceType.GROUP:
            if not resource.name:
                raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        case ResourceType.CLIENT_METRICS:
            if not resource.name:
                raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    return resource.type


def _changed(
    kind: ResourceType, name: str, present: Mapping[str, str], changes: Sequence[Change]
) -> list[r.ConfigChanged]:
    named = Counter(change.key for change in changes)
    records = []
    for change in changes:
        if named[change.key] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        value = _new_value(kind, present, change)
        if value != present.get(change.key):
            records.append(r.ConfigChanged(kind, name, change.key, value))
    return records


def _check_together(
    machine: ControllerMachine, kind: ResourceType, present: Mapping[str, str], changed: Sequence[r.ConfigChanged]
) -> None:
    """Values that are good by themselves may contradict each other."""
    static = machine.settings.static
    merged = {**present, **{change.key: change.value for change in changed}}
    after = {key: value for key, value in merged.items() if value is not None}
    if kind is ResourceType.TOPIC:
        check_topic_together(EffectiveConfigs(machine.image, static).topic_with(after))
    if kind is ResourceType.GROUP:
        try:
            check_group(after, static)
        except ConfigError as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def _new_value(kind: ResourceType, present: Mapping[str, str], change: Change) -> str | None:
    key = TABLES[kind].get(change.key)
    if change.operation == Operation.DELETE:
        return None  # of any key: tools take back what they never set, and older releases had other keys
    if change.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.key}")
    if key is not None and kind is ResourceType.BROKER and key.update_mode is UpdateMode.READ_ONLY:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{change.key}]")
    if key is None and kind is ResourceType.BROKER:
        if change.operation != Operation.SET:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown config name: {change.key}")
        return change.value  # Kafka takes any name, and tools set what only Kafka's brokers read
    value = _combined(key, present, change)
    check_config(kind, change.key, value)
    return value


def _combined(key: ConfigKey | None, present: Mapping[str, str], change: Change) -> str:
    assert change.value is not None
    if change.operation == Operation.SET:
        return change.value
    if change.operation not in (Operation.APPEND, Operation.SUBTRACT):
        raise Refused(ErrorCode.INVALID_REQUEST, f"{change.operation} is no operation on configs")
    if key is None or key.type is not ConfigType.LIST:
        message = f"Can't {Operation(change.operation).name} to key {change.key} because its type is not LIST."
        raise Refused(ErrorCode.INVALID_CONFIG, message)
    items = _items(present.get(key.name, key.default))
    given = _items(change.value)
    if change.operation == Operation.APPEND:
        if not given:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Configuration '{key.name}' values must not be empty.")
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join(item for item in items if item not in given)


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]

"""The facts the metadata log is made of: one frozen dataclass per record type.

A record says what became true, completely enough that folding records needs no clock and no randomness. Every type keeps
its name and meaning for good: logs on disk outlive releases. In the log each is one Kafka record: its key is the type's name,
its value JSON that a person can read. Reading is strict: a type, a field or a value that this version does not know is a
RecordError, because skipping a fact would make two nodes see two clusters.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NewType, TypeAlias, get_args, get_origin, get_type_hints
from uuid import UUID

from millstream_cluster.errors import RecordError
from millstream_cluster.ids import (
    BrokerEpoch,
    ControllerEpoch,
    LeaderEpoch,
    NodeId,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    parse_uuid,
    uuid_text,
)


class ResourceType(StrEnum):
    """What a configuration belongs to; the values are what the log's JSON says."""

    TOPIC = "TOPIC"
    BROKER = "BROKER"
    GROUP = "GROUP"
    CLIENT_METRICS = "CLIENT_METRICS"


class QuotaEntityType(StrEnum):
    """What a client quota is for; the values are Kafka's own words for it."""

    USER = "user"
    CLIENT_ID = "client-id"


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """One part of whom a client quota is for; a name None stands for everybody without a quota of their own."""

    type: QuotaEntityType
    name: str | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a node takes connections, under the listener's name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ClusterCreated:
    cluster_id: str


@dataclass(frozen=True, slots=True)
class ControllerElected:
    """This controller alone appends from here on; a higher epoch deposes it."""

    controller_id: NodeId
    epoch: ControllerEpoch
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ControllerResigned:
    """The controller of this epoch stops and appends no more: whoever stands by need not wait for its silence."""

    controller_id: NodeId
    epoch: ControllerEpoch


@dataclass(frozen=True, slots=True)
class NodeRegistered:
    """A broker or coordinator came (again) and is fenced until it says it is ready.

    `incarnation_id` is a broker's disk, a coordinator's process: a new one under an old id has none of the old one's data.
    """

    node_id: NodeId
    epoch: BrokerEpoch
    incarnation_id: UUID
    listeners: tuple[Endpoint, ...]
    rack: str | None


@dataclass(frozen=True, slots=True)
class NodeFenced:
    node_id: NodeId
    epoch: BrokerEpoch


@dataclass(frozen=True, slots=True)
class NodeUnfenced:
    node_id: NodeId
    epoch: BrokerEpoch


@dataclass(frozen=True, slots=True)
class NodeUnregistered:
    node_id: NodeId
    epoch: BrokerEpoch


@dataclass(frozen=True, slots=True)
class TopicCreated:
    name: str
    topic_id: UUID
    internal: bool


@dataclass(frozen=True, slots=True)
class PartitionCreated:
    """The next partition of its topic: partitions are created in order, starting with 0."""

    topic_id: UUID
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """The whole new state of a partition; `partition_epoch` is one more than before."""

    topic_id: UUID
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """The topic's data may be removed; its configs and shards are gone with it."""

    topic_id: UUID


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """`value` None takes the key back to what it would be unset. A broker resource named "" is the cluster's default."""

    resource_type: ResourceType
    resource_name: str
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ClientQuotaChanged:
    """A quota for the clients that all parts of `entity`, in order of their types, name; `value` None takes it away."""

    entity: tuple[QuotaEntity, ...]
    key: str
    value: float | None


@dataclass(frozen=True, slots=True)
class FeatureLevelSet:
    """From now on the cluster does this much of a feature."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """Every producer id below `next_producer_id` is given away."""

    next_producer_id: ProducerId


@dataclass(frozen=True, slots=True)
class ShardAssigned:
    """A partition of a coordinator topic belongs to this coordinator, which writes with this producer id and epoch."""

    topic_id: UUID
    partition: int
    coordinator_id: NodeId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch


MetadataRecord: TypeAlias = (
    ClusterCreated
    | ControllerElected
    | ControllerResigned
    | NodeRegistered
    | NodeFenced
    | NodeUnfenced
    | NodeUnregistered
    | TopicCreated
    | PartitionCreated
    | PartitionChanged
    | TopicDeleted
    | ConfigChanged
    | ClientQuotaChanged
    | FeatureLevelSet
    | ProducerIdsAllocated
    | ShardAssigned
)

Reader = Callable[[Any], Any]


def encode_record(record: MetadataRecord) -> tuple[bytes, bytes]:
    """The record's key and value bytes."""
    body = {field.name: _plain(getattr(record, field.name)) for field in fields(record)}
    value = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return type(record).__name__.encode(), value.encode()


def decode_record(key: bytes | memoryview | None, value: bytes | memoryview | None) -> MetadataRecord:
    """Read back what `encode_record` wrote; anything else is a RecordError."""
    if key is None or value is None:
        raise RecordError("a metadata record has neither a null key nor a null value")
    name = bytes(key).decode(errors="backslashreplace")
    if name not in _TYPES:
        raise RecordError(f"metadata record type {name!r} is unknown to this version")
    try:
        return _record_reader(name)(json.loads(bytes(value)))  # type: ignore[no-any-return]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordError(f"malformed metadata record {name}: {error}") from error


def _plain(value: object) -> object:
    match value:
        case UUID():
            return uuid_text(value)
        case tuple():
            return [_plain(item) for item in value]
        case Endpoint():
            return {"name": value.name, "host": value.host, "port": value.port}
        case QuotaEntity():
            return {"type": value.type, "name": value.name}
        case _:
            return value


@cache
def _record_reader(name: str) -> Reader:
    """Made when the first record of a type is read: a process that starts reads few of them."""
    return _dataclass_reader(_TYPES[name])


def _dataclass_reader(cls: type[Any]) -> Reader:
    hints = get_type_hints(cls)
    readers = {field.name: _reader(hints[field.name]) for field in fields(cls)}
    required = {field.name for field in fields(cls) if field.default is MISSING}

    def read(body: Any) -> Any:
        if not isinstance(body, dict):
            raise TypeError("not an object")
        if unknown := body.keys() - readers.keys():
            raise ValueError(f"unknown fields {sorted(unknown)}")
        if missing := required - body.keys():
            raise ValueError(f"missing fields {sorted(missing)}")
        return cls(**{name: readers[name](value) for name, value in body.items()})

    return read


def _reader(hint: Any) -> Reader:
    """Turn a field's type into a function that checks and converts what JSON gave."""
    if isinstance(hint, NewType):
        return _reader(hint.__supertype__)
    if hint is UUID:
        return parse_uuid
    if isinstance(hint, UnionType):
        (inner,) = (_reader(arg) for arg in get_args(hint) if arg is not NoneType)
        return lambda value: None if value is None else inner(value)
    if get_origin(hint) is tuple:
        item = _reader(get_args(hint)[0])
        return lambda value: tuple(item(element) for element in _exact(list, value))
    if hint in (int, str, bool, float):
        return lambda value: _exact(hint, value)
    if hint in (Endpoint, QuotaEntity):
        return _dataclass_reader(hint)
    if hint in (ResourceType, QuotaEntityType):
        return hint  # type: ignore[no-any-return]
    raise AssertionError(f"a record field has a type without a JSON form: {hint}")


def _exact(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


_TYPES: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(MetadataRecord)}

"""The JSON form of metadata records: the key is the type's name, the value an object that a person can read."""

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, NewType, get_args, get_origin, get_type_hints
from uuid import UUID

from millstream_cluster.acls import AclOperation, AclPattern, AclPermission, AclResource
from millstream_cluster.errors import MetadataTooNew, RecordError
from millstream_cluster.ids import parse_uuid, uuid_text
from millstream_cluster.metadata_version import NEWEST, MetadataVersion, field_since, type_since
from millstream_cluster.records.configs import QuotaEntity, QuotaEntityType, ResourceType
from millstream_cluster.records.features import MetadataVersionSet
from millstream_cluster.records.metadata_record import MetadataRecord
from millstream_cluster.records.nodes import Endpoint, FailedLogDir, FeatureRange, FenceReason
from millstream_cluster.records.topics import LeaderRecoveryState

Reader = Callable[[Any], Any]


def encode_record(record: MetadataRecord, level: MetadataVersion) -> tuple[bytes, bytes]:
    """The record's key and value bytes as this level has them; a fact that the level has no place for is a RecordError."""
    name = type(record).__name__
    if type_since(name) > level:
        raise RecordError(f"{name} needs metadata.version {type_since(name)}, the cluster's is {level}")
    body = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.default is not MISSING:
            if value == field.default:
                continue  # so that a record that needs no more is the same bytes at every level
            since = field_since(name, field.name)
            if since > level:
                raise RecordError(f"{name}.{field.name} needs metadata.version {since}, the cluster's is {level}")
        body[field.name] = _plain(value)
    value = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return name.encode(), value.encode()


def decode_record(key: bytes | memoryview | None, value: bytes | memoryview | None) -> MetadataRecord:
    """Read back what `encode_record` wrote; anything else is a RecordError, and a level of a later release MetadataTooNew."""
    if key is None or value is None:
        raise RecordError("a metadata record has neither a null key nor a null value")
    name = bytes(key).decode(errors="backslashreplace")
    if name not in _TYPES:
        raise RecordError(f"metadata record type {name!r} is unknown to this version")
    try:
        record: MetadataRecord = _record_reader(name)(json.loads(bytes(value)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordError(f"malformed metadata record {name}: {error}") from error
    if isinstance(record, MetadataVersionSet) and record.level not in set(MetadataVersion):
        raise MetadataTooNew(record.level, NEWEST)
    return record


def _plain(value: object) -> object:
    match value:
        case UUID():
            return uuid_text(value)
        case AclOperation() | AclPattern() | AclPermission() | AclResource():
            return value.name
        case tuple():
            return [_plain(item) for item in value]
        case Endpoint():
            return {"name": value.name, "host": value.host, "port": value.port}
        case FailedLogDir():
            return {"directory": uuid_text(value.directory), "since_ms": value.since_ms}
        case FeatureRange():
            return {"name": value.name, "least": value.least, "most": value.most}
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
    if hint in (Endpoint, FailedLogDir, FeatureRange, QuotaEntity):
        return _dataclass_reader(hint)
    if hint in (FenceReason, LeaderRecoveryState, ResourceType, QuotaEntityType):
        return hint  # type: ignore[no-any-return]
    if hint in (AclOperation, AclPattern, AclPermission, AclResource):
        return lambda name: hint[_exact(str, name)]
    raise AssertionError(f"a record field has a type without a JSON form: {hint}")


def _exact(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


_TYPES: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(MetadataRecord)}

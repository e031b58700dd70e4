"""What rows of the table of requests are made of, and what is looked at in their answers.

Names that begin with `t-`, `g-` and `x-` (topics, groups, transactional ids) are what grants are for; `u-` is nobody's.
"""

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType
from typing import Any
from uuid import UUID

from millstream_cluster.acls import AclOperation, AclResource
from millstream_wire.api import API, ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

Grant = tuple[AclResource, AclOperation]

T, G, C, X = AclResource.TOPIC, AclResource.GROUP, AclResource.CLUSTER, AclResource.TRANSACTIONAL_ID
READ, WRITE, CREATE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE
ALTER, DESCRIBE, ACTION = AclOperation.ALTER, AclOperation.DESCRIBE, AclOperation.CLUSTER_ACTION
DESCRIBE_CONFIGS, ALTER_CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS

TOPICS = ("t-a", "u-a")
ABSENT = ("t-none", "u-none")
GONE = ("u-gone-1", "u-gone-2")
"""Topics that some may delete."""
GROUPS = ("g-a", "u-a")
IDS = ("x-a", "u-a")
OF_CLUSTER = 31
OF_TOPIC, OF_GROUP, OF_ID = 29, 30, 53


@dataclass(frozen=True, slots=True)
class Scene:
    """What a server knows alone: the ids of its topics."""

    topic_ids: dict[str, UUID]


@dataclass(frozen=True, slots=True)
class Row:
    ask: Callable[[Scene], Any]
    needs: tuple[frozenset[Grant], ...] = ()
    """Each one is enough; none at all: whoever asks."""
    versions: tuple[int, ...] = ()
    """The oldest and the newest unless something else is of interest."""
    code: int = 0
    """Which refusal is seen by who was granted nothing; 0: none, things are left out or the answer says it otherwise."""
    shows: bool = False
    """The answer to who may ask has what the other's leaves out, beside codes."""


def made(kind: Any, **fields: Any) -> Any:
    """A message of nested dicts."""
    hints = typing.get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in fields.items()})


def _value(hint: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return made(_item(hint), **value)
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return [made(_item(hint), **each) for each in value]
    return value


def _item(hint: Any) -> Any:
    options = [each for each in typing.get_args(hint) if each is not NoneType]
    if dataclasses.is_dataclass(hint) or not options:
        return hint
    return _item(options[0])


def one(*grants: Grant) -> frozenset[Grant]:
    return frozenset(grants)


def fixed(kind: Any, **fields: Any) -> Callable[[Scene], Any]:
    return lambda _: made(kind, **fields)


def each(names: tuple[str, ...], key: str = "name", **fields: Any) -> list[dict[str, Any]]:
    return [{key: name, **fields} for name in names]


def by_id(scene: Scene, **fields: Any) -> list[dict[str, Any]]:
    """Both topics, and one that is not there."""
    ids = [*(scene.topic_ids[name] for name in TOPICS), UUID(int=77)]
    return [{"topic_id": topic_id, **fields} for topic_id in ids]


def batch(*, transactional: bool = False) -> bytes:
    producer = {"producer_id": 9_001, "producer_epoch": 0, "base_sequence": 0} if transactional else {}
    return bytes(encode_batch([Record(0, 1_700_000_000_000, None, b"v", ())], transactional=transactional, **producer))


def produced(**fields: Any) -> list[dict[str, Any]]:
    return [{"index": 0, "records": memoryview(batch(**fields))}]


def cluster(operation: AclOperation) -> tuple[frozenset[Grant], ...]:
    return (one((C, operation)),)


ONE = [0]
INDEX = [{"partition_index": 0}]
OFFSET = [{"partition_index": 0, "committed_offset": 0}]
WITH_CLUSTER_OPERATIONS = {"include_cluster_authorized_operations": True}
RESOURCES = [
    *({"resource_type": 2, "resource_name": name} for name in (*TOPICS, *ABSENT)),
    *({"resource_type": 32, "resource_name": name} for name in GROUPS),
    {"resource_type": 4, "resource_name": ""},
    {"resource_type": 16, "resource_name": "cm"},
]
CONFIG_NEEDS = one((T, DESCRIBE_CONFIGS), (G, DESCRIBE_CONFIGS), (C, DESCRIBE_CONFIGS))
ALTER_NEEDS = one((T, ALTER_CONFIGS), (G, ALTER_CONFIGS), (C, ALTER_CONFIGS))
STATE_OF = {"group_id": "g-a", "topics": [{"topic_id": UUID(int=77), "partitions": [{"partition": 0}]}]}
ACL = {
    "resource_type": 2,
    "resource_name": "",
    "resource_pattern_type": 3,
    "principal": "User:x",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
NO_ACL = {
    "resource_type_filter": 2,
    "resource_name_filter": "n",
    "pattern_type_filter": 3,
    "principal_filter": "User:n",
}
NO_ACL |= {"host_filter": None, "operation": 1, "permission_type": 1}
PRODUCER = {"producer_id": 9_001, "producer_epoch": 0}


class Table:
    """Rows by the name of their API and of what is special about them."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[ApiKey, Row]] = {}

    def add(self, key: ApiKey, name: str = "", /, **fields: Any) -> None:
        self.rows[f"{key.name}{'-' if name else ''}{name}"] = (key, Row(**fields))


REFUSALS = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
_NAMES = frozenset(
    {
        *(
            "name",
            "topic",
            "topic_name",
            "group_id",
            "transactional_id",
            "resource_name",
            "resource_type",
            "user",
            "key",
        ),
        *("partition_index", "partition", "partition_id", "index"),
        *("authorized_operations", "topic_authorized_operations", "cluster_authorized_operations"),
    }
)
_NOT_COMPARED = frozenset({"brokers", "node_endpoints", "nodes", "configs", "observers"})
"""What says nothing of rights, or what the servers have different ones of."""


def versions_of(key: ApiKey, row: Row) -> tuple[int, ...]:
    oldest, newest = API[key].versions
    return row.versions or tuple(dict.fromkeys((oldest, newest)))


@dataclass(slots=True)
class Seen:
    """Of an answer what rights have to do with: names, refusals where they are, operations; in no order."""

    refusals: set[int] = field(default_factory=set)

    def of(self, answer: Any) -> Any:
        if isinstance(answer, list):
            return sorted((self.of(each) for each in answer), key=repr)
        if not dataclasses.is_dataclass(answer):
            return answer
        shown: dict[str, Any] = {}
        for each in dataclasses.fields(answer):
            value = getattr(answer, each.name)
            if each.name.endswith("error_code"):
                shown[each.name] = value if value in REFUSALS else 0
                self.refusals |= {value} & REFUSALS
            elif each.name in _NAMES:
                shown[each.name] = value
            elif each.name not in _NOT_COMPARED and _is_list_of_structures(value):
                shown[each.name] = self.of(value)
        return shown


def seen(answer: Any) -> tuple[Any, set[int]]:
    looked = Seen()
    return looked.of(answer), looked.refusals


def _is_list_of_structures(value: Any) -> bool:
    return isinstance(value, list) and any(map(dataclasses.is_dataclass, value))

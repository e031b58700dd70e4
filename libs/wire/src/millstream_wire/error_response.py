"""What answers each request when all that it asks failed for one reason: one table, complete over the APIs.

Where a response has a place for the error is said once, here: at the top, and in one item for each item that was asked, so that
clients find the answer to their own topic, partition or group. Kafka has the same as each request's `getErrorResponse`.
"""

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from types import NoneType
from typing import Any, TypeVar

from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.join_group import JoinGroupRequest
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def error_response(request: Request[R], version: int, code: ErrorCode, message: str | None = None) -> R:
    """Answer that all of it failed; the message goes where the response has room for one."""
    row, answer = _ANSWERS[request.api_key], request.answer_type()
    given = _error(answer, row, code, message)
    if isinstance(request, JoinGroupRequest):
        given |= {"member_id": request.member_id, "protocol_name": None if version >= NO_PROTOCOL_IS_NULL_SINCE else ""}
    return answer(**given, **_items(request, answer, row.items, code, message))


NO_PROTOCOL_IS_NULL_SINCE = 7
"""Of JoinGroup."""


@dataclass(frozen=True, slots=True)
class Items:
    """For each item of the request's list `asked` (`a.b`: of the lists b of its items in a) one in the response's list `answered`, which repeats the fields `same`.

    An item that is no structure but a name or a number is itself the one field that is repeated; `a=b` repeats b as a. The error
    goes into each item that has room for it.
    """

    asked: str
    answered: str
    same: tuple[str, ...]
    items: tuple["Items", ...]
    fixed: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """`at_top`: the response has an error of its own, if it has room for one."""

    items: tuple[Items, ...] = ()
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    at_top: bool = True


def _each(asked: str, answered: str, same: str, *items: Items, **fixed: Any) -> Items:
    return Items(asked, answered, tuple(same.split()), items, fixed)


def _error(answer: type, row: Row | Items, code: ErrorCode, message: str | None) -> dict[str, Any]:
    given = dict(row.fixed)
    names = _names(answer)
    if isinstance(row, Row) and not row.at_top:
        return given
    given |= {name: code for name in ("error_code", "partition_error_code") if name in names}
    if message is not None and "error_message" in names:
        given["error_message"] = message
    return given


def _items(
    asked: Any, answer: type, tables: Iterable[Items], code: ErrorCode, message: str | None
) -> dict[str, list[Any]]:
    lists: dict[str, list[Any]] = {}
    for table in tables:
        kind = _item_type(answer, table.answered)
        lists.setdefault(table.answered, []).extend(
            kind(
                **_same(item, table.same),
                **_error(kind, table, code, message),
                **_items(item, kind, table.items, code, message),
            )
            for item in _asked(asked, table.asked)
        )
    return lists


def _asked(request: Any, path: str) -> Iterable[Any]:
    name, _, rest = path.partition(".")
    found = getattr(request, name) or ()
    return (item for each in found for item in _asked(each, rest)) if rest else found


def _same(item: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not dataclasses.is_dataclass(item):
        return {names[0]: item}
    pairs = (name.partition("=") for name in names)
    return {answered: getattr(item, asked or answered) for answered, _, asked in pairs}


@cache
def _names(declaration: Any) -> frozenset[str]:
    return frozenset(each.name for each in dataclasses.fields(declaration))


@cache
def _item_type(answer: type, name: str) -> Any:
    """What the list of this name holds."""
    hint = typing.get_type_hints(answer)[name]
    if typing.get_origin(hint) is not list:  # list or None
        (hint,) = (option for option in typing.get_args(hint) if option is not NoneType)
    return typing.get_args(hint)[0]


_TOP = Row()
_RESOURCES = Row((_each("resources", "responses", "resource_type resource_name"),))
_GROUP_IDS = Row((_each("group_ids", "groups", "group_id"),))
_STATES = Row((_each("topics", "results", "topic_id", _each("partitions", "partitions", "partition")),))
_OFFSETS = _each("topics", "topics", "name", _each("partitions", "partitions", "partition_index"))
_TXN_PARTITIONS = _each("partitions", "results_by_partition", "partition_index")

_ANSWERS: dict[int, Row] = {
    ApiKey.PRODUCE: Row(
        (
            _each(
                "topic_data",
                "responses",
                "name topic_id",
                _each("partition_data", "partition_responses", "index", base_offset=-1),
            ),
        )
    ),
    ApiKey.FETCH: Row(
        (
            _each(
                "topics",
                "responses",
                "topic topic_id",
                _each("partitions", "partitions", "partition_index=partition", high_watermark=-1, records=b""),
            ),
        )
    ),
    ApiKey.LIST_OFFSETS: Row((_OFFSETS,)),
    ApiKey.METADATA: Row((_each("topics", "topics", "name topic_id"),)),
    ApiKey.OFFSET_COMMIT: Row(
        (_each("topics", "topics", "name topic_id", _each("partitions", "partitions", "partition_index")),)
    ),
    ApiKey.OFFSET_FETCH: Row(
        (
            _each("groups", "groups", "group_id"),
            _each(
                "topics",
                "topics",
                "name",
                _each("partition_indexes", "partitions", "partition_index", committed_offset=-1),
            ),
        )
    ),
    ApiKey.FIND_COORDINATOR: Row(
        (_each("coordinator_keys", "coordinators", "key", node_id=-1, port=-1),), {"node_id": -1, "port": -1}
    ),
    ApiKey.JOIN_GROUP: _TOP,
    ApiKey.HEARTBEAT: _TOP,
    ApiKey.LEAVE_GROUP: _TOP,
    ApiKey.SYNC_GROUP: _TOP,
    ApiKey.DESCRIBE_GROUPS: Row((_each("groups", "groups", "group_id"),)),
    ApiKey.LIST_GROUPS: _TOP,
    ApiKey.SASL_HANDSHAKE: _TOP,
    ApiKey.API_VERSIONS: _TOP,
    ApiKey.CREATE_TOPICS: Row((_each("topics", "topics", "name"),)),
    ApiKey.DELETE_TOPICS: Row(
        (_each("topics", "responses", "name topic_id"), _each("topic_names", "responses", "name"))
    ),
    ApiKey.DELETE_RECORDS: Row(
        (_each("topics", "topics", "name", _each("partitions", "partitions", "partition_index", low_watermark=-1)),)
    ),
    ApiKey.INIT_PRODUCER_ID: Row(fixed={"producer_epoch": -1}),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Row(
        (_each("topics", "topics", "topic", _each("partitions", "partitions", "partition")),)
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Row(
        (
            _each("v3_and_below_topics", "results_by_topic_v3_and_below", "name", _TXN_PARTITIONS),
            _each(
                "transactions",
                "results_by_transaction",
                "transactional_id",
                _each("topics", "topic_results", "name", _TXN_PARTITIONS),
            ),
        ),
        at_top=False,
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: _TOP,
    ApiKey.END_TXN: _TOP,
    ApiKey.WRITE_TXN_MARKERS: Row(
        (
            _each(
                "markers",
                "markers",
                "producer_id",
                _each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),
            ),
        )
    ),
    ApiKey.TXN_OFFSET_COMMIT: Row((_OFFSETS,)),
    ApiKey.DESCRIBE_ACLS: _TOP,
    ApiKey.CREATE_ACLS: Row((_each("creations", "results", ""),)),
    ApiKey.DELETE_ACLS: Row((_each("filters", "filter_results", ""),)),
    ApiKey.DESCRIBE_CONFIGS: Row((_each("resources", "results", "resource_type resource_name"),)),
    ApiKey.ALTER_CONFIGS: _RESOURCES,
    ApiKey.ALTER_REPLICA_LOG_DIRS: Row(
        (_each("dirs.topics", "results", "topic_name=name", _each("partitions", "partitions", "partition_index")),)
    ),
    ApiKey.DESCRIBE_LOG_DIRS: _TOP,
    ApiKey.SASL_AUTHENTICATE: _TOP,
    ApiKey.CREATE_PARTITIONS: Row((_each("topics", "results", "name"),)),
    ApiKey.CREATE_DELEGATION_TOKEN: _TOP,
    ApiKey.RENEW_DELEGATION_TOKEN: _TOP,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _TOP,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _TOP,
    ApiKey.DELETE_GROUPS: Row((_each("groups_names", "results", "group_id"),)),
    ApiKey.ELECT_LEADERS: Row(
        (
            _each(
                "topic_partitions",
                "replica_election_results",
                "topic",
                _each("partitions", "partition_result", "partition_id"),
            ),
        )
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _RESOURCES,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Row(
        (_each("topics", "responses", "name", _each("partitions", "partitions", "partition_index")),)
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Row(
        (_each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),)
    ),
    ApiKey.OFFSET_DELETE: _TOP,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Row(fixed={"entries": None}),
    ApiKey.ALTER_CLIENT_QUOTAS: Row((_each("entries", "entries", "entity"),)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Row((_each("users", "results", ""),)),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Row(
        (_each("deletions", "results", "user=name"), _each("upsertions", "results", "user=name"))
    ),
    ApiKey.DESCRIBE_QUORUM: _TOP,
    ApiKey.ALTER_PARTITION: _TOP,
    ApiKey.UPDATE_FEATURES: _TOP,
    ApiKey.ENVELOPE: _TOP,
    ApiKey.FETCH_SNAPSHOT: _TOP,
    ApiKey.DESCRIBE_CLUSTER: _TOP,
    ApiKey.DESCRIBE_PRODUCERS: Row(
        (_each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),)
    ),
    ApiKey.BROKER_REGISTRATION: _TOP,
    ApiKey.BROKER_HEARTBEAT: _TOP,
    ApiKey.UNREGISTER_BROKER: _TOP,
    ApiKey.DESCRIBE_TRANSACTIONS: Row((_each("transactional_ids", "transaction_states", "transactional_id"),)),
    ApiKey.LIST_TRANSACTIONS: _TOP,
    ApiKey.ALLOCATE_PRODUCER_IDS: _TOP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _TOP,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _GROUP_IDS,
    ApiKey.CONTROLLER_REGISTRATION: _TOP,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: _TOP,
    ApiKey.PUSH_TELEMETRY: _TOP,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _TOP,
    ApiKey.LIST_CONFIG_RESOURCES: _TOP,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Row((_each("topics", "topics", "name"),)),
    ApiKey.SHARE_GROUP_HEARTBEAT: _TOP,
    ApiKey.SHARE_GROUP_DESCRIBE: _GROUP_IDS,
    ApiKey.SHARE_FETCH: _TOP,
    ApiKey.SHARE_ACKNOWLEDGE: _TOP,
    ApiKey.ADD_RAFT_VOTER: _TOP,
    ApiKey.REMOVE_RAFT_VOTER: _TOP,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _STATES,
    ApiKey.READ_SHARE_GROUP_STATE: _STATES,
    ApiKey.WRITE_SHARE_GROUP_STATE: _STATES,
    ApiKey.DELETE_SHARE_GROUP_STATE: _STATES,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _STATES,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _TOP,
    ApiKey.STREAMS_GROUP_DESCRIBE: _GROUP_IDS,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Row((_each("groups", "groups", "group_id"),)),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _TOP,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _TOP,
}

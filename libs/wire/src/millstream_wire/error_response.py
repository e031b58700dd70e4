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

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.schema import Request, Response

R = TypeVar("R", bound=Response)


def error_response(request: Request[R], version: int, code: ErrorCode, message: str | None = None) -> R:
    """Answer that all of it failed; the message goes where the response has room for one."""
    row, answer = _ANSWERS[type(request)], request.answer_type()
    given = _error(answer, row, code, message)
    if isinstance(request, m.JoinGroupRequest):
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

_ANSWERS: dict[type[Request[Any]], Row] = {
    m.ProduceRequest: Row(
        (
            _each(
                "topic_data",
                "responses",
                "name topic_id",
                _each("partition_data", "partition_responses", "index", base_offset=-1),
            ),
        )
    ),
    m.FetchRequest: Row(
        (
            _each(
                "topics",
                "responses",
                "topic topic_id",
                _each("partitions", "partitions", "partition_index=partition", high_watermark=-1, records=b""),
            ),
        )
    ),
    m.ListOffsetsRequest: Row((_OFFSETS,)),
    m.MetadataRequest: Row((_each("topics", "topics", "name topic_id"),)),
    m.OffsetCommitRequest: Row(
        (_each("topics", "topics", "name topic_id", _each("partitions", "partitions", "partition_index")),)
    ),
    m.OffsetFetchRequest: Row(
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
    m.FindCoordinatorRequest: Row(
        (_each("coordinator_keys", "coordinators", "key", node_id=-1, port=-1),), {"node_id": -1, "port": -1}
    ),
    m.JoinGroupRequest: _TOP,
    m.HeartbeatRequest: _TOP,
    m.LeaveGroupRequest: _TOP,
    m.SyncGroupRequest: _TOP,
    m.DescribeGroupsRequest: Row((_each("groups", "groups", "group_id"),)),
    m.ListGroupsRequest: _TOP,
    m.SaslHandshakeRequest: _TOP,
    m.ApiVersionsRequest: _TOP,
    m.CreateTopicsRequest: Row((_each("topics", "topics", "name"),)),
    m.DeleteTopicsRequest: Row(
        (_each("topics", "responses", "name topic_id"), _each("topic_names", "responses", "name"))
    ),
    m.DeleteRecordsRequest: Row(
        (_each("topics", "topics", "name", _each("partitions", "partitions", "partition_index", low_watermark=-1)),)
    ),
    m.InitProducerIdRequest: Row(fixed={"producer_epoch": -1}),
    m.OffsetForLeaderEpochRequest: Row(
        (_each("topics", "topics", "topic", _each("partitions", "partitions", "partition")),)
    ),
    m.AddPartitionsToTxnRequest: Row(
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
    m.AddOffsetsToTxnRequest: _TOP,
    m.EndTxnRequest: _TOP,
    m.WriteTxnMarkersRequest: Row(
        (
            _each(
                "markers",
                "markers",
                "producer_id",
                _each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),
            ),
        )
    ),
    m.TxnOffsetCommitRequest: Row((_OFFSETS,)),
    m.DescribeAclsRequest: _TOP,
    m.CreateAclsRequest: Row((_each("creations", "results", ""),)),
    m.DeleteAclsRequest: Row((_each("filters", "filter_results", ""),)),
    m.DescribeConfigsRequest: Row((_each("resources", "results", "resource_type resource_name"),)),
    m.AlterConfigsRequest: _RESOURCES,
    m.AlterReplicaLogDirsRequest: Row(
        (_each("dirs.topics", "results", "topic_name=name", _each("partitions", "partitions", "partition_index")),)
    ),
    m.DescribeLogDirsRequest: _TOP,
    m.SaslAuthenticateRequest: _TOP,
    m.CreatePartitionsRequest: Row((_each("topics", "results", "name"),)),
    m.CreateDelegationTokenRequest: _TOP,
    m.RenewDelegationTokenRequest: _TOP,
    m.ExpireDelegationTokenRequest: _TOP,
    m.DescribeDelegationTokenRequest: _TOP,
    m.DeleteGroupsRequest: Row((_each("groups_names", "results", "group_id"),)),
    m.ElectLeadersRequest: Row(
        (
            _each(
                "topic_partitions",
                "replica_election_results",
                "topic",
                _each("partitions", "partition_result", "partition_id"),
            ),
        )
    ),
    m.IncrementalAlterConfigsRequest: _RESOURCES,
    m.AlterPartitionReassignmentsRequest: Row(
        (_each("topics", "responses", "name", _each("partitions", "partitions", "partition_index")),)
    ),
    m.ListPartitionReassignmentsRequest: Row(
        (_each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),)
    ),
    m.OffsetDeleteRequest: _TOP,
    m.DescribeClientQuotasRequest: Row(fixed={"entries": None}),
    m.AlterClientQuotasRequest: Row((_each("entries", "entries", "entity"),)),
    m.DescribeUserScramCredentialsRequest: Row((_each("users", "results", ""),)),
    m.AlterUserScramCredentialsRequest: Row(
        (_each("deletions", "results", "user=name"), _each("upsertions", "results", "user=name"))
    ),
    m.DescribeQuorumRequest: _TOP,
    m.AlterPartitionRequest: _TOP,
    m.UpdateFeaturesRequest: _TOP,
    m.EnvelopeRequest: _TOP,
    m.FetchSnapshotRequest: _TOP,
    m.DescribeClusterRequest: _TOP,
    m.DescribeProducersRequest: Row(
        (_each("topics", "topics", "name", _each("partition_indexes", "partitions", "partition_index")),)
    ),
    m.BrokerRegistrationRequest: _TOP,
    m.BrokerHeartbeatRequest: _TOP,
    m.UnregisterBrokerRequest: _TOP,
    m.DescribeTransactionsRequest: Row((_each("transactional_ids", "transaction_states", "transactional_id"),)),
    m.ListTransactionsRequest: _TOP,
    m.AllocateProducerIdsRequest: _TOP,
    m.ConsumerGroupHeartbeatRequest: _TOP,
    m.ConsumerGroupDescribeRequest: _GROUP_IDS,
    m.ControllerRegistrationRequest: _TOP,
    m.GetTelemetrySubscriptionsRequest: _TOP,
    m.PushTelemetryRequest: _TOP,
    m.AssignReplicasToDirsRequest: _TOP,
    m.ListConfigResourcesRequest: _TOP,
    m.DescribeTopicPartitionsRequest: Row((_each("topics", "topics", "name"),)),
    m.ShareGroupHeartbeatRequest: _TOP,
    m.ShareGroupDescribeRequest: _GROUP_IDS,
    m.ShareFetchRequest: _TOP,
    m.ShareAcknowledgeRequest: _TOP,
    m.AddRaftVoterRequest: _TOP,
    m.RemoveRaftVoterRequest: _TOP,
    m.InitializeShareGroupStateRequest: _STATES,
    m.ReadShareGroupStateRequest: _STATES,
    m.WriteShareGroupStateRequest: _STATES,
    m.DeleteShareGroupStateRequest: _STATES,
    m.ReadShareGroupStateSummaryRequest: _STATES,
    m.StreamsGroupHeartbeatRequest: _TOP,
    m.StreamsGroupDescribeRequest: _GROUP_IDS,
    m.DescribeShareGroupOffsetsRequest: Row((_each("groups", "groups", "group_id"),)),
    m.AlterShareGroupOffsetsRequest: _TOP,
    m.DeleteShareGroupOffsetsRequest: _TOP,
}

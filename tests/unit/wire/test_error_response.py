"""An error can be told in every version of every API: it is what clients get in bad times."""

import dataclasses
import random
import typing
import uuid
from types import NoneType
from typing import Any

import pytest

from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from millstream_wire.messages.delete_topics import DeleteTopicState
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic

ERROR = ErrorCode.REQUEST_TIMED_OUT
SILENT = {(ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}
"""Kafka's answer of these versions has errors for directories only, of which nobody asked."""


def filled(hint: Any, rng: random.Random) -> Any:
    """A value with two items in every list."""
    if hasattr(hint, "__metadata__"):
        return filled(hint.__origin__, rng)
    if typing.get_origin(hint) is list:
        return [filled(typing.get_args(hint)[0], rng) for _ in range(2)]
    if typing.get_origin(hint) is not None:
        return filled(next(option for option in typing.get_args(hint) if option is not NoneType), rng)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{each.name: filled(hints[each.name], rng) for each in dataclasses.fields(hint)})
    makers: dict[Any, Any] = {
        str: f"name-{rng.randrange(1000)}",
        int: rng.randrange(1, 100),
        bool: True,
        float: 0.5,
        bytes: b"bytes",
        uuid.UUID: uuid.UUID(int=rng.getrandbits(128)),
        Any: b"",
    }
    return makers[hint]


def codes(value: Any) -> list[int]:
    """Every error code in a response."""
    if isinstance(value, list):
        return [code for each in value for code in codes(each)]
    if not dataclasses.is_dataclass(value):
        return []
    found = []
    for each in dataclasses.fields(value):
        inner = getattr(value, each.name)
        found += [inner] if each.name in ("error_code", "partition_error_code") else codes(inner)
    return found


@pytest.mark.parametrize("key", API)
def test_every_api_can_be_answered_with_an_error_in_every_version(key: ApiKey) -> None:
    api, rng = API[key], random.Random(key)
    for version in range(api.request.versions[0], api.request.versions[1] + 1):
        asked = decode(api.request, version, encode(filled(api.request, rng), version))
        answer = error_response(asked, version, ERROR, "why")
        assert type(answer) is api.response
        told = decode(api.response, version, encode(answer, version))
        assert ERROR in codes(told) or (key, version) in SILENT, f"{api.name} {version} does not say it"
        assert set(codes(told)) <= {ERROR, ErrorCode.NONE}
        empty = error_response(api.request(), version, ERROR)
        assert decode(api.response, version, encode(empty, version)) is not None


def test_each_item_gets_the_error_under_its_own_name() -> None:
    topics = [DeleteTopicState(name="a"), DeleteTopicState(topic_id=uuid.UUID(int=7))]
    deleted = error_response(m.DeleteTopicsRequest(topics=topics), 6, ERROR, "why")
    assert [(each.name, each.topic_id.int, each.error_code, each.error_message) for each in deleted.responses] == [
        ("a", 0, ERROR, "why"),
        (None, 7, ERROR, "why"),
    ]
    named = error_response(m.DeleteTopicsRequest(topic_names=["a"]), 5, ERROR)
    assert [(each.name, each.error_code) for each in named.responses] == [("a", ERROR)]


def test_lists_in_lists_are_answered_as_one() -> None:
    dirs = [
        AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=f"t-{path}", partitions=[0, 4])])
        for path in "ab"
    ]
    answer = error_response(m.AlterReplicaLogDirsRequest(dirs=dirs), 2, ERROR)
    assert [(each.topic_name, [p.partition_index for p in each.partitions]) for each in answer.results] == [
        ("t-a", [0, 4]),
        ("t-b", [0, 4]),
    ]


def test_offset_fetch_is_refused_per_group_or_per_partition() -> None:
    asked = m.OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g")])
    new = error_response(asked, 8, ErrorCode.NOT_COORDINATOR)
    assert [(group.group_id, group.error_code) for group in new.groups] == [("g", 16)]
    asked = m.OffsetFetchRequest(topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[3])])
    old = error_response(asked, 1, ErrorCode.NOT_COORDINATOR)
    (partition,) = old.topics[0].partitions
    assert (partition.partition_index, partition.committed_offset, partition.error_code) == (3, -1, 16)


def test_a_batch_of_transactions_is_refused_transaction_by_transaction() -> None:
    topic = AddPartitionsToTxnTopic(name="t", partitions=[1])
    asked = m.AddPartitionsToTxnRequest(
        transactions=[AddPartitionsToTxnTransaction(transactional_id=each, topics=[topic]) for each in "xy"]
    )
    answer = error_response(asked, 4, ErrorCode.NOT_COORDINATOR)
    assert answer.error_code == ErrorCode.NONE, "each transaction has its own"
    assert [each.transactional_id for each in answer.results_by_transaction] == ["x", "y"]
    assert codes(answer.results_by_transaction) == [ErrorCode.NOT_COORDINATOR] * 2


def test_join_group_has_no_protocol_as_its_version_says_so() -> None:
    asked = m.JoinGroupRequest(member_id="me")
    names = [error_response(asked, version, ErrorCode.NOT_COORDINATOR).protocol_name for version in (6, 7)]
    assert names == ["", None]

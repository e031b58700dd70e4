"""Declarations behave as dataclasses, and say per version what is on the wire."""

import dataclasses
import uuid

import pytest

from millstream_wire.messages import FetchRequest, HeartbeatRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ReplicaState
from millstream_wire.schema import ZERO_UUID, Array, Fixed, Sized, fields_at


def test_a_message_has_kafkas_defaults_and_takes_keywords() -> None:
    message = HeartbeatRequest(group_id="g", generation_id=3)
    assert (message.group_id, message.generation_id, message.member_id, message.group_instance_id) == ("g", 3, "", None)


def test_mutable_defaults_are_not_shared() -> None:
    one, other = FetchRequest(), FetchRequest()
    one.topics.append(FetchTopic(topic="t"))
    one.replica_state.replica_id = 7
    assert other.topics == []
    assert other.replica_state == ReplicaState()


@pytest.mark.parametrize("call", [lambda: HeartbeatRequest(group="g"), lambda: HeartbeatRequest("g")])  # type: ignore[call-arg, misc]
def test_unknown_and_positional_arguments_are_refused(call: object) -> None:
    with pytest.raises(TypeError):
        call()  # type: ignore[operator]


def test_messages_have_slots_and_equality_but_no_hash() -> None:
    message = HeartbeatRequest(group_id="g")
    with pytest.raises(AttributeError):
        message.group = "g"  # type: ignore[attr-defined]
    assert message == HeartbeatRequest(group_id="g")
    assert message != HeartbeatRequest(group_id="h")
    assert message != ReplicaState()
    with pytest.raises(TypeError):
        hash(message)


def test_the_tools_of_dataclasses_work() -> None:
    partition = FetchPartition(partition=1)
    assert dataclasses.replace(partition, fetch_offset=5) == FetchPartition(partition=1, fetch_offset=5)
    assert repr(ReplicaState(replica_id=1)) == "ReplicaState(replica_id=1, replica_epoch=-1)"


def test_class_facts() -> None:
    assert (FetchRequest.api_key, FetchRequest.versions, FetchRequest.flexible) == (1, (4, 18), 12)
    assert FetchRequest.is_request


def test_fields_at_a_version() -> None:
    by_name = {version: {field.name: field for field in fields_at(FetchTopic, version)} for version in (12, 13)}
    assert (by_name[12]["topic"].present, by_name[12]["topic_id"].present) == (True, False)
    assert (by_name[13]["topic"].present, by_name[13]["topic_id"].present) == (False, True)
    assert by_name[13]["topic"].type == Sized("string")
    assert by_name[13]["topic_id"].type == Fixed("16s")
    assert by_name[13]["topic_id"].default() == ZERO_UUID == uuid.UUID(int=0)
    assert by_name[13]["partitions"].type == Array(FetchPartition)

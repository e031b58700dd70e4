"""Requests about groups, each said word by word, and a transcript of the answers: what two servers said can be laid side by side."""

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any

from ask import ask
from raw_transactions import LOADING, RawProducer, until_settled

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from millstream_wire.messages.join_group import JoinGroupRequestProtocol
from millstream_wire.messages.leave_group import MemberIdentity
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from millstream_wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from millstream_wire.messages.sync_group import SyncGroupRequestAssignment

TOPIC_IDS_SINCE = 10
"""Of OffsetCommit and OffsetFetch."""
BATCHED_SINCE = 8
"""OffsetFetch of several groups."""
UNKNOWN_TOPIC_ID = uuid.UUID(int=0xABCDEF)
NOT_COMPARED = frozenset({"throttle_time_ms", "client_host", "authorized_operations"})
OWN_AFFAIR = frozenset({"member_epoch", "heartbeat_interval_ms", "assignment"})
"""How many steps a consumer group takes to an assignment, and how often its members are asked."""


class RawGroup:
    """One group on one server, and what the server said about it in `transcript`."""

    def __init__(self, bootstrap: str, group: str, topic: str, *, partitions: int = 2) -> None:
        self.bootstrap, self.topic, self.group = bootstrap, topic, group
        self.transcript: list[str] = []
        self._names: dict[str, str] = {}
        maker = RawProducer(bootstrap, group, topic)
        maker.create_topic(partitions)
        self.coordinator = maker.coordinator(group, 0)
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        metadata: list[Any] = []

        def look() -> int:
            metadata[:] = ask(bootstrap, asked)
            return int(metadata[0].topics[0].error_code)

        until_settled(look, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE))
        self.topic_id: uuid.UUID = metadata[0].topics[0].topic_id
        self._names[str(self.topic_id)] = "the topic's id"

    def say(self, request: Any, version: int) -> Any:
        """Ask the coordinator, write down what it says, and return it."""
        answers: list[Any] = []

        def attempt() -> int:
            answers[:] = ask(self.coordinator, request, version=version)
            return next((code for code in _codes(answers[0]) if code in LOADING), 0)

        until_settled(attempt, LOADING)
        said = f"{type(request).__name__} {version}: {self._plain(answers[0])}"
        self.transcript.append(said)
        return answers[0]

    # ---- members of the classic protocol ----

    def join(self, version: int = 9, **said: Any) -> Any:
        protocols = said.pop("protocols", {"range": b"m"})
        request = JoinGroupRequest(
            group_id=said.pop("group", self.group),
            session_timeout_ms=said.pop("session_timeout_ms", 30_000),
            rebalance_timeout_ms=30_000,
            protocol_type=said.pop("protocol_type", "consumer"),
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
            **said,
        )
        answer = self.say(request, version)
        self._names.setdefault(answer.member_id, f"member {len(self._names)}" if answer.member_id else "")
        self.transcript[-1] = f"JoinGroupRequest {version}: {self._plain(answer)}"
        return answer

    def sync(self, member: str, generation: int, version: int = 5, **said: Any) -> Any:
        given: Mapping[str, bytes] = said.pop("assignments", {})
        request = SyncGroupRequest(
            group_id=said.pop("group", self.group),
            generation_id=generation,
            member_id=member,
            protocol_type=said.pop("protocol_type", "consumer"),
            protocol_name=said.pop("protocol_name", "range"),
            assignments=[SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in given.items()],
            **said,
        )
        return self.say(request, version)

    def heartbeat(self, member: str, generation: int, version: int = 4, **said: Any) -> Any:
        group = said.pop("group", self.group)
        return self.say(HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, **said), version)

    def leave(self, *members: tuple[str, str | None], version: int = 5, group: str | None = None) -> Any:
        if version < 3:
            ((member, _),) = members
            return self.say(LeaveGroupRequest(group_id=self.group, member_id=member), version)
        named = [MemberIdentity(member_id=member, group_instance_id=instance) for member, instance in members]
        return self.say(LeaveGroupRequest(group_id=self.group if group is None else group, members=named), version)

    def describe(self, version: int = 6) -> Any:
        return self.say(DescribeGroupsRequest(groups=[self.group]), version)

    def delete(self, *groups: str, version: int = 2) -> Any:
        return self.say(DeleteGroupsRequest(groups_names=list(groups or (self.group,))), version)

    # ---- members of the consumer protocol ----

    def consumer_heartbeat(self, member: str, epoch: int, version: int = 1, **said: Any) -> Any:
        group = said.pop("group", self.group)
        request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **said)
        return self.say(request, version)

    def consumer_join(self, member: str, **said: Any) -> Any:
        whole = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": [self.topic], "topic_partitions": [], **said}
        return self.consumer_heartbeat(member, 0, **whole)

    # ---- offsets ----

    def commit(
        self,
        *offsets: tuple[int, int],
        version: int = 9,
        topic: str | None = None,
        topic_id: uuid.UUID | None = None,
        leader_epoch: int = -1,
        metadata: str | None = "",
        **said: Any,
    ) -> Any:
        """`offsets`: partition and offset of each."""
        name = self.topic if topic is None else topic
        if version >= TOPIC_IDS_SINCE:
            named = {"topic_id": self.topic_id if topic_id is None else topic_id}
        else:
            named = {"name": name}  # type: ignore[dict-item]
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
            for index, offset in offsets
        ]
        request = OffsetCommitRequest(
            group_id=said.pop("group", self.group),
            topics=[OffsetCommitRequestTopic(partitions=partitions, **named)],  # type: ignore[arg-type]
            **said,
        )
        return self.say(request, version)

    def fetch(
        self,
        *partitions: int,
        version: int = 9,
        topic: str | None = None,
        topic_id: uuid.UUID | None = None,
        require_stable: bool = False,
        group: str | None = None,
        **said: Any,
    ) -> Any:
        """Without partitions: all that there is."""
        name = self.topic if topic is None else topic
        group = self.group if group is None else group
        if version < BATCHED_SINCE:
            asked = [OffsetFetchRequestTopic(name=name, partition_indexes=list(partitions))] if partitions else None
            return self.say(OffsetFetchRequest(group_id=group, topics=asked, require_stable=require_stable), version)
        named: dict[str, Any] = {"name": name}
        if version >= TOPIC_IDS_SINCE:
            named = {"topic_id": self.topic_id if topic_id is None else topic_id}
        wanted = [OffsetFetchRequestTopics(partition_indexes=list(partitions), **named)] if partitions else None
        of_group = OffsetFetchRequestGroup(group_id=group, topics=wanted, **said)
        return self.say(OffsetFetchRequest(groups=[of_group], require_stable=require_stable), version)

    def is_stable(self, partition: int) -> None:
        """That no transaction holds the offset; not part of the transcript."""
        before = list(self.transcript)
        answer = self.fetch(partition, require_stable=True)
        self.transcript = before
        assert answer.groups[0].topics[0].partitions[0].error_code == ErrorCode.NONE

    def delete_offsets(self, *partitions: int, topic: str | None = None, group: str | None = None) -> Any:
        named = OffsetDeleteRequestTopic(
            name=self.topic if topic is None else topic,
            partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in partitions],
        )
        return self.say(OffsetDeleteRequest(group_id=self.group if group is None else group, topics=[named]), 0)

    # ---- the transcript ----

    def _plain(self, value: Any) -> Any:
        """Of answers what two servers can have in common: no ids that each makes up, lists in an order of their own."""
        if dataclasses.is_dataclass(value):
            fields = {each.name: self._plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
            if "heartbeat_interval_ms" in fields:
                fields = {name: what for name, what in fields.items() if name not in OWN_AFFAIR}
            if fields.get("error_message") is not None:
                fields["error_message"] = "in words"
            return {name: what for name, what in fields.items() if name not in NOT_COMPARED}
        if isinstance(value, list):
            return sorted((self._plain(each) for each in value), key=str)
        if isinstance(value, str | uuid.UUID):
            return self._names.get(str(value), str(value))
        return bytes(value) if isinstance(value, memoryview) else value


def _codes(answer: Any) -> list[int]:
    """Every error code in an answer, however deep."""
    if isinstance(answer, list):
        return [code for each in answer for code in _codes(each)]
    if not dataclasses.is_dataclass(answer):
        return []
    codes = []
    for each in dataclasses.fields(answer):
        value = getattr(answer, each.name)
        codes += [value] if each.name == "error_code" else _codes(value)
    return codes

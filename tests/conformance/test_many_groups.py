"""Groups by the thousand that are used once or not at all: the coordinator's memory and its log stay small."""

from collections.abc import Iterator

import pytest
from process_account import ProcessAccount
from raw_transactions import LOADING, RawProducer
from servers import ServerProcess, eventually, node
from wire_client import MIB, WireClient

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from millstream_wire.messages.join_group import JoinGroupRequestProtocol
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.sync_group import SyncGroupRequestAssignment

GROUPS = 300
BYTES_PER_GROUP_MAX = 16_384
PENDING = 2_000
PENDING_BYTES_MAX = 16 * MIB
SESSION_MS = 6_000
NO_ID_NEEDED, ID_NEEDED = 3, 4
"""Versions of JoinGroup."""


def is_loaded(client: WireClient) -> None:
    assert client.call(ListGroupsRequest(), 4, ListGroupsResponse).error_code not in LOADING


@pytest.fixture
def client(fresh_server: ServerProcess, topic: str) -> Iterator[WireClient]:
    maker = RawProducer(fresh_server.bootstrap, topic, topic)
    maker.create_topic()
    with WireClient(maker.coordinator("any", 0)) as connected:
        eventually(lambda: is_loaded(connected))
        yield connected


@pytest.fixture(scope="module")
def fresh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = ("group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=1")
    with node(tmp_path_factory.mktemp("many-groups"), *settings) as running:
        yield running


def join(client: WireClient, group: str, version: int, metadata: bytes = b"m") -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    return client.call(request, version, JoinGroupResponse)


def sync(client: WireClient, group: str, joined: JoinGroupResponse, assignment: bytes) -> SyncGroupResponse:
    given = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)]
    request = SyncGroupRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=given
    )
    return client.call(request, 3, SyncGroupResponse)


def use_once(client: WireClient, group: str, topic: str) -> None:
    joined = join(client, group, NO_ID_NEEDED)
    assert joined.error_code == ErrorCode.NONE
    assert sync(client, group, joined, b"a").error_code == ErrorCode.NONE
    offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    commit = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=joined.generation_id,
        member_id=joined.member_id,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[offset])],
    )
    committed = client.call(commit, 8, OffsetCommitResponse)
    assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    left = client.call(LeaveGroupRequest(group_id=group, member_id=joined.member_id), 2, LeaveGroupResponse)
    assert left.error_code == ErrorCode.NONE


def listed(client: WireClient) -> set[str]:
    answer = client.call(ListGroupsRequest(), 4, ListGroupsResponse)
    assert answer.error_code == ErrorCode.NONE
    return {group.group_id for group in answer.groups}


def test_groups_that_are_used_once(fresh_server: ServerProcess, client: WireClient, topic: str) -> None:
    names = [f"{topic}-{number}" for number in range(GROUPS)]
    account = ProcessAccount(fresh_server.pid)
    use_once(client, f"{topic}-first", topic)
    before = account.resident_bytes
    for name in names:
        use_once(client, name, topic)
    assert account.resident_bytes - before < GROUPS * BYTES_PER_GROUP_MAX
    assert set(names) <= listed(client)
    deleted = client.call(DeleteGroupsRequest(groups_names=names), 1, DeleteGroupsResponse)
    assert {each.error_code for each in deleted.results} == {ErrorCode.NONE}
    assert not set(names) & listed(client)
    again = account.resident_bytes
    for name in names:
        use_once(client, name, topic)
    assert account.resident_bytes - again < GROUPS * BYTES_PER_GROUP_MAX // 2, "what was deleted is used again"


def test_ids_that_nobody_comes_back_with(fresh_server: ServerProcess, client: WireClient, topic: str) -> None:
    account = ProcessAccount(fresh_server.pid)
    before = account.resident_bytes
    group = f"{topic}-one"
    assert {join(client, group, ID_NEEDED).error_code for _ in range(PENDING)} == {ErrorCode.MEMBER_ID_REQUIRED}
    names = {f"{topic}-{number}" for number in range(GROUPS)}
    assert {join(client, name, ID_NEEDED).error_code for name in names} == {ErrorCode.MEMBER_ID_REQUIRED}
    assert account.resident_bytes - before < PENDING_BYTES_MAX
    eventually(lambda: is_gone(client, names | {group}), within_s=60)


def is_gone(client: WireClient, groups: set[str]) -> None:
    assert not groups & listed(client)


def test_what_no_batch_could_hold(client: WireClient, topic: str) -> None:
    """Members hear of it, and the group goes on with less."""
    group = f"{topic}-large"
    assert join(client, group, NO_ID_NEEDED, bytes(2 * MIB)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    joined = join(client, group, NO_ID_NEEDED)
    assert sync(client, group, joined, bytes(2 * MIB)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    left = client.call(LeaveGroupRequest(group_id=group, member_id=joined.member_id), 2, LeaveGroupResponse)
    assert left.error_code == ErrorCode.NONE
    use_once(client, group, topic)

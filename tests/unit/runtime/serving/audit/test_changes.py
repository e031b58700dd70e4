"""What is said of each API's changes, and that no secret is."""

import dataclasses
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any
from uuid import UUID

import pytest
from generated_messages import examples, versions_of

from millstream_cluster.ids import NodeId
from millstream_cluster.principal import USER, Principal
from millstream_runtime.serving.audit.changes import CHANGES, HIDDEN
from millstream_runtime.serving.peer import ClientPeer, NodePeer
from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    alter_client_quotas,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_topics,
    elect_leaders,
    incremental_alter_configs,
    leave_group,
    offset_commit,
    offset_delete,
    update_features,
    write_txn_markers,
)
from millstream_wire.messages import alter_configs as alter_configs_
from millstream_wire.schema import Request, Response

ALICE = ClientPeer(Principal(USER, "alice"))
SECRET = "s3cret-of-somebody"
ID = UUID(int=7)
TOPIC, BROKER, LOGGER = 2, 4, 8
ACL = {"principal": "User:bob", "host": "*", "operation": 3, "permission_type": 3}
ACL_TEXT = "ACL:ALLOW,User:bob,*,READ,TOPIC,LITERAL,t"


def asked_and_answered(request: Request[Any], response: Response) -> list[tuple[str, str, str]]:
    changes = CHANGES[request.api_key](request, ALICE)
    assert changes is not None
    details = dict(changes.asked)
    return [(name, details.get(name, "?"), ErrorCode(code).name) for name, code in changes.answers(response)]


CASES: dict[str, tuple[Request[Any], Response, list[tuple[str, str, str]]]] = {
    "create topics": (
        m.CreateTopicsRequest(
            topics=[
                create_topics.CreatableTopic(
                    name="t",
                    num_partitions=3,
                    replication_factor=2,
                    configs=[
                        create_topics.CreatableTopicConfig(name="retention.ms", value="1"),
                        create_topics.CreatableTopicConfig(name="no.such.key", value=SECRET),
                    ],
                ),
                create_topics.CreatableTopic(name="u"),
            ]
        ),
        m.CreateTopicsResponse(
            topics=[
                create_topics.CreatableTopicResult(name="u", error_code=ErrorCode.TOPIC_ALREADY_EXISTS),
                create_topics.CreatableTopicResult(name="t"),
            ]
        ),
        [
            ("TOPIC:u", "partitions=0,replication_factor=0", "TOPIC_ALREADY_EXISTS"),
            ("TOPIC:t", f"partitions=3,replication_factor=2,retention.ms=1,no.such.key={HIDDEN}", "NONE"),
        ],
    ),
    "delete topics by name and id": (
        m.DeleteTopicsRequest(topics=[delete_topics.DeleteTopicState(topic_id=ID)], topic_names=["t"]),
        m.DeleteTopicsResponse(
            responses=[
                delete_topics.DeletableTopicResult(name="t"),
                delete_topics.DeletableTopicResult(name=None, topic_id=ID, error_code=ErrorCode.UNKNOWN_TOPIC_ID),
            ]
        ),
        [("TOPIC:t", "", "NONE"), (f"TOPIC_ID:{ID}", "", "UNKNOWN_TOPIC_ID")],
    ),
    "create partitions": (
        m.CreatePartitionsRequest(topics=[create_partitions.CreatePartitionsTopic(name="t", count=5)]),
        m.CreatePartitionsResponse(results=[create_partitions.CreatePartitionsTopicResult(name="t")]),
        [("TOPIC:t", "partitions=5", "NONE")],
    ),
    "create acls": (
        m.CreateAclsRequest(creations=[create_acls.AclCreation(resource_type=TOPIC, resource_name="t", **ACL)]),
        m.CreateAclsResponse(results=[create_acls.AclCreationResult()]),
        [(ACL_TEXT, "", "NONE")],
    ),
    "delete acls": (
        m.DeleteAclsRequest(
            filters=[
                delete_acls.DeleteAclsFilter(
                    resource_type_filter=1,
                    resource_name_filter=None,
                    pattern_type_filter=1,
                    principal_filter="User:bob",
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                )
            ]
            * 2
        ),
        m.DeleteAclsResponse(
            filter_results=[
                delete_acls.DeleteAclsFilterResult(
                    matching_acls=[delete_acls.DeleteAclsMatchingAcl(resource_type=TOPIC, resource_name="t", **ACL)]
                ),
                delete_acls.DeleteAclsFilterResult(),
            ]
        ),
        [(ACL_TEXT, "?", "NONE"), ("ACL:ANY,User:bob,ANY,ANY,ANY,ANY,ANY", "", "NONE")],
    ),
    "alter configs": (
        m.AlterConfigsRequest(
            resources=[
                alter_configs_.AlterConfigsResource(
                    resource_type=TOPIC,
                    resource_name="t",
                    configs=[alter_configs_.AlterableConfig(name="cleanup.policy", value="compact")],
                )
            ]
        ),
        m.AlterConfigsResponse(
            responses=[alter_configs_.AlterConfigsResourceResponse(resource_type=TOPIC, resource_name="t")]
        ),
        [("TOPIC:t", "cleanup.policy=compact", "NONE")],
    ),
    "alter configs incrementally": (
        m.IncrementalAlterConfigsRequest(
            resources=[
                incremental_alter_configs.AlterConfigsResource(
                    resource_type=BROKER,
                    resource_name="1",
                    configs=[
                        incremental_alter_configs.AlterableConfig(name="ssl.keystore.password", value=SECRET),
                        incremental_alter_configs.AlterableConfig(name="message.max.bytes", value="2"),
                        incremental_alter_configs.AlterableConfig(name="max.connections", config_operation=1),
                    ],
                ),
                incremental_alter_configs.AlterConfigsResource(
                    resource_type=LOGGER,
                    resource_name="1",
                    configs=[incremental_alter_configs.AlterableConfig(name="root", value="DEBUG")],
                ),
            ]
        ),
        m.IncrementalAlterConfigsResponse(
            responses=[
                incremental_alter_configs.AlterConfigsResourceResponse(
                    resource_type=BROKER, resource_name="1", error_code=ErrorCode.INVALID_CONFIG
                ),
                incremental_alter_configs.AlterConfigsResourceResponse(resource_type=LOGGER, resource_name="1"),
            ]
        ),
        [
            (
                "BROKER:1",
                f"ssl.keystore.password={HIDDEN},message.max.bytes=2,-max.connections",
                "INVALID_CONFIG",
            ),
            ("BROKER_LOGGER:1", "root=DEBUG", "NONE"),
        ],
    ),
    "elect leaders": (
        m.ElectLeadersRequest(
            election_type=1, topic_partitions=[elect_leaders.TopicPartitions(topic="t", partitions=[0, 1])]
        ),
        m.ElectLeadersResponse(
            replica_election_results=[
                elect_leaders.ReplicaElectionResult(
                    topic="t",
                    partition_result=[
                        elect_leaders.PartitionResult(partition_id=0),
                        elect_leaders.PartitionResult(partition_id=1, error_code=ErrorCode.ELECTION_NOT_NEEDED),
                    ],
                )
            ]
        ),
        [("TOPIC:t", "election=unclean,0,1", "ELECTION_NOT_NEEDED")],
    ),
    "elect leaders of everything": (
        m.ElectLeadersRequest(topic_partitions=None),
        m.ElectLeadersResponse(),
        [("TOPIC:*", "election=preferred", "NONE")],
    ),
    "reassign": (
        m.AlterPartitionReassignmentsRequest(
            topics=[
                alter_partition_reassignments.ReassignableTopic(
                    name="t",
                    partitions=[
                        alter_partition_reassignments.ReassignablePartition(partition_index=0, replicas=[1, 2]),
                        alter_partition_reassignments.ReassignablePartition(partition_index=1),
                    ],
                )
            ]
        ),
        m.AlterPartitionReassignmentsResponse(
            responses=[alter_partition_reassignments.ReassignableTopicResponse(name="t")]
        ),
        [("TOPIC:t", "0->1/2,1->cancel", "NONE")],
    ),
    "quotas": (
        m.AlterClientQuotasRequest(
            entries=[
                alter_client_quotas.RequestEntryData(
                    entity=[
                        alter_client_quotas.EntityData(entity_type="user", entity_name="bob"),
                        alter_client_quotas.EntityData(entity_type="client-id", entity_name=None),
                    ],
                    ops=[
                        alter_client_quotas.OpData(key="producer_byte_rate", value=1024.0),
                        alter_client_quotas.OpData(key="consumer_byte_rate", remove=True),
                    ],
                )
            ]
        ),
        m.AlterClientQuotasResponse(
            entries=[
                alter_client_quotas.ResponseEntryData(
                    entity=[
                        alter_client_quotas.EntityData(entity_type="client-id", entity_name=None),
                        alter_client_quotas.EntityData(entity_type="user", entity_name="bob"),
                    ]
                )
            ]
        ),
        [("QUOTA:client-id=<default>,user=bob", "producer_byte_rate=1024,-consumer_byte_rate", "NONE")],
    ),
    "scram credentials": (
        m.AlterUserScramCredentialsRequest(
            upsertions=[
                alter_user_scram_credentials.ScramCredentialUpsertion(
                    name="bob",
                    mechanism=1,
                    iterations=4096,
                    salt=SECRET.encode(),
                    salted_password=SECRET.encode(),
                )
            ],
            deletions=[alter_user_scram_credentials.ScramCredentialDeletion(name="carol", mechanism=2)],
        ),
        m.AlterUserScramCredentialsResponse(
            results=[
                alter_user_scram_credentials.AlterUserScramCredentialsResult(user="bob"),
                alter_user_scram_credentials.AlterUserScramCredentialsResult(
                    user="carol", error_code=ErrorCode.RESOURCE_NOT_FOUND
                ),
            ]
        ),
        [
            ("USER:bob", "SCRAM_SHA_256,iterations=4096", "NONE"),
            ("USER:carol", "-SCRAM_SHA_512", "RESOURCE_NOT_FOUND"),
        ],
    ),
    "a token": (
        m.CreateDelegationTokenRequest(
            owner_principal_type="User",
            owner_principal_name="bob",
            renewers=[create_delegation_token.CreatableRenewers(principal_type="User", principal_name="carol")],
            max_lifetime_ms=5,
        ),
        m.CreateDelegationTokenResponse(token_id="id", hmac=SECRET.encode()),
        [("DELEGATION_TOKEN:id", "?", "NONE")],
    ),
    "a token is renewed": (
        m.RenewDelegationTokenRequest(hmac=SECRET.encode(), renew_period_ms=5),
        m.RenewDelegationTokenResponse(),
        [(f"DELEGATION_TOKEN:{HIDDEN}", "renew_period_ms=5", "NONE")],
    ),
    "a token expires": (
        m.ExpireDelegationTokenRequest(hmac=SECRET.encode(), expiry_time_period_ms=-1),
        m.ExpireDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
        [(f"DELEGATION_TOKEN:{HIDDEN}", "expiry_time_period_ms=-1", "DELEGATION_TOKEN_NOT_FOUND")],
    ),
    "features": (
        m.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey(feature="group.version", max_version_level=1)]
        ),
        m.UpdateFeaturesResponse(error_code=ErrorCode.FEATURE_UPDATE_FAILED),
        [("FEATURE:group.version", "level=1", "FEATURE_UPDATE_FAILED")],
    ),
    "a broker is taken out": (
        m.UnregisterBrokerRequest(broker_id=3),
        m.UnregisterBrokerResponse(),
        [("BROKER:3", "", "NONE")],
    ),
    "records": (
        m.DeleteRecordsRequest(
            topics=[
                delete_records.DeleteRecordsTopic(
                    name="t", partitions=[delete_records.DeleteRecordsPartition(partition_index=1, offset=9)]
                )
            ]
        ),
        m.DeleteRecordsResponse(
            topics=[
                delete_records.DeleteRecordsTopicResult(
                    name="t", partitions=[delete_records.DeleteRecordsPartitionResult(partition_index=1)]
                )
            ]
        ),
        [("TOPIC:t", "1<9", "NONE")],
    ),
    "directories": (
        m.AlterReplicaLogDirsRequest(
            dirs=[
                alter_replica_log_dirs.AlterReplicaLogDir(
                    path="/d", topics=[alter_replica_log_dirs.AlterReplicaLogDirTopic(name="t", partitions=[0])]
                )
            ]
        ),
        m.AlterReplicaLogDirsResponse(results=[alter_replica_log_dirs.AlterReplicaLogDirTopicResult(topic_name="t")]),
        [("TOPIC:t", "0->/d", "NONE")],
    ),
    "a transaction is aborted": (
        m.WriteTxnMarkersRequest(
            markers=[
                write_txn_markers.WritableTxnMarker(
                    producer_id=5,
                    topics=[write_txn_markers.WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
                )
            ]
        ),
        m.WriteTxnMarkersResponse(
            markers=[
                write_txn_markers.WritableTxnMarkerResult(
                    producer_id=5,
                    topics=[
                        write_txn_markers.WritableTxnMarkerTopicResult(
                            name="t",
                            partitions=[
                                write_txn_markers.WritableTxnMarkerPartitionResult(
                                    error_code=ErrorCode.INVALID_PRODUCER_EPOCH
                                )
                            ],
                        )
                    ],
                )
            ]
        ),
        [("PRODUCER_ID:5", "abort,t-0", "INVALID_PRODUCER_EPOCH")],
    ),
    "groups": (
        m.DeleteGroupsRequest(groups_names=["g"]),
        m.DeleteGroupsResponse(
            results=[delete_groups.DeletableGroupResult(group_id="g", error_code=ErrorCode.NON_EMPTY_GROUP)]
        ),
        [("GROUP:g", "delete", "NON_EMPTY_GROUP")],
    ),
    "offsets are set": (
        m.OffsetCommitRequest(
            group_id="g",
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    name="t", partitions=[offset_commit.OffsetCommitRequestPartition(partition_index=1)]
                )
            ],
        ),
        m.OffsetCommitResponse(
            topics=[
                offset_commit.OffsetCommitResponseTopic(
                    name="t",
                    partitions=[
                        offset_commit.OffsetCommitResponsePartition(
                            partition_index=1, error_code=ErrorCode.UNKNOWN_MEMBER_ID
                        )
                    ],
                )
            ]
        ),
        [("GROUP:g", "set_offsets,t-1", "UNKNOWN_MEMBER_ID")],
    ),
    "offsets are deleted": (
        m.OffsetDeleteRequest(
            group_id="g",
            topics=[
                offset_delete.OffsetDeleteRequestTopic(
                    name="t", partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=1)]
                )
            ],
        ),
        m.OffsetDeleteResponse(),
        [("GROUP:g", "delete_offsets,t-1", "NONE")],
    ),
    "offsets of a share group are set": (
        m.AlterShareGroupOffsetsRequest(
            group_id="g",
            topics=[
                alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                    topic_name="t",
                    partitions=[
                        alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(
                            partition_index=0, start_offset=7
                        )
                    ],
                )
            ],
        ),
        m.AlterShareGroupOffsetsResponse(),
        [("GROUP:g", "set_offsets,t-0=7", "NONE")],
    ),
    "offsets of a share group are deleted": (
        m.DeleteShareGroupOffsetsRequest(
            group_id="g",
            topics=[delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic(topic_name="t")],
        ),
        m.DeleteShareGroupOffsetsResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND),
        [("GROUP:g", "delete_offsets,t", "GROUP_ID_NOT_FOUND")],
    ),
    "members are taken out": (
        m.LeaveGroupRequest(group_id="g", members=[leave_group.MemberIdentity(group_instance_id="i-1")]),
        m.LeaveGroupResponse(),
        [("GROUP:g", "remove_members,i-1", "NONE")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_said(case: str) -> None:
    request, response, said = CASES[case]
    assert asked_and_answered(request, response) == said


def test_each_api_is_here() -> None:
    assert {request.api_key for request, _, _ in CASES.values()} == {*CHANGES}


NOTHING_OF_A_PERSON: list[Request[Any]] = [
    m.CreateTopicsRequest(validate_only=True),
    m.CreatePartitionsRequest(validate_only=True),
    m.IncrementalAlterConfigsRequest(validate_only=True),
    m.AlterClientQuotasRequest(validate_only=True),
    m.UpdateFeaturesRequest(validate_only=True),
    m.OffsetCommitRequest(generation_id_or_member_epoch=0, member_id="m"),
    m.LeaveGroupRequest(members=[leave_group.MemberIdentity(member_id="m", group_instance_id="i")]),
]


@pytest.mark.parametrize("request_", NOTHING_OF_A_PERSON, ids=lambda each: type(each).__name__)
def test_what_changes_nothing_is_not_said(request_: Request[Any]) -> None:
    assert CHANGES[request_.api_key](request_, ALICE) is None


def test_the_markers_of_coordinators_are_not_said() -> None:
    assert CHANGES[ApiKey.WRITE_TXN_MARKERS](m.WriteTxnMarkersRequest(), NodePeer.of(NodeId(10_000))) is None


def filled(declaration: Any) -> Any:
    """With the secret in every place that has room for one, and one item in every list."""
    values: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(declaration).items():
        if name in {each.name for each in dataclasses.fields(declaration)}:
            values[name] = _filled(hint)
    return declaration(**{name: value for name, value in values.items() if value is not None})


def _filled(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, UnionType):
        hint = next(each for each in typing.get_args(hint) if each is not type(None))
    if typing.get_origin(hint) is list:
        (item,) = typing.get_args(hint)
        one = filled(item) if dataclasses.is_dataclass(item) else _filled(item)
        return [] if one is None else [one]
    return SECRET.encode() if hint is bytes or getattr(hint, "__supertype__", hint) is bytes else None


def secret_places(value: Any) -> Iterator[bytes]:
    if isinstance(value, (bytes, memoryview)):
        yield bytes(value)
    elif isinstance(value, list):
        for each in value:
            yield from secret_places(each)
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from secret_places(getattr(value, each.name))


def test_no_bytes_of_any_request_are_said() -> None:
    """Whatever is bytes in these messages is a salt, a key or a token."""
    found = 0
    for key, describe in CHANGES.items():
        request = filled(API[ApiKey(key)].request)
        found += sum(1 for each in secret_places(request) if each == SECRET.encode())
        changes = describe(request, ALICE)
        assert SECRET not in repr(changes.asked if changes is not None else None)
    assert found == 4, "a salt, a salted password and the tokens of two requests"


@pytest.mark.parametrize("key", CHANGES, ids=lambda key: key.name)
def test_any_request_can_be_said_and_its_refusal_is_seen(key: ApiKey) -> None:
    """Whatever is in it, in every version; where all of it is refused, nothing is said to be done."""
    described = 0
    kind = API[key].request
    for version in versions_of(kind):
        for request in examples(kind, version, 30):
            changes = CHANGES[key](request, ALICE)
            if changes is None:
                continue
            described += 1
            assert all(isinstance(text, str) for item in changes.asked for text in item)
            answered = list(changes.answers(error_response(request, version, ErrorCode.INVALID_REQUEST)))
            assert {name for name, _ in answered} <= {name for name, _ in changes.asked}
    assert described


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_of_all_is_said_of_each(case: str) -> None:
    request, _, _ = CASES[case]
    changes = CHANGES[request.api_key](request, ALICE)
    assert changes is not None
    refused = error_response(request, type(request).versions[1], ErrorCode.INVALID_REQUEST)
    assert {*changes.answers(refused)} == {(name, ErrorCode.INVALID_REQUEST) for name, _ in changes.asked}

"""The table of APIs: key, name, messages, and the versions that Kafka 4.4 offers, which is the most a node may advertise.

A message's own `versions` say what can be read and written; they differ from the table where Kafka advertises a
version that it refuses (Produce 0 to 2) or has one that is not stable yet (InitProducerId 6).
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from millstream_wire import messages
from millstream_wire.late_dataclass import dataclass
from millstream_wire.schema import Request, Response


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    name: str
    request: type[Request[Any]]
    response: type[Response]
    versions: tuple[int, int]
    flexible: int | None


def _api(request: type[Request[Any]], versions: tuple[int, int] | None = None) -> Api:
    key = ApiKey(request.api_key)
    name = request.__name__.removesuffix("Request")
    return Api(key, name, request, request.answer_type(), versions or request.versions, request.flexible)


_APIS = (
    # KAFKA-18659: without versions 0 to 2 in the answer librdkafka silently stops compressing.
    _api(messages.ProduceRequest, (0, 13)),
    _api(messages.FetchRequest),
    _api(messages.ListOffsetsRequest),
    _api(messages.MetadataRequest),
    _api(messages.OffsetCommitRequest),
    _api(messages.OffsetFetchRequest),
    _api(messages.FindCoordinatorRequest),
    _api(messages.JoinGroupRequest),
    _api(messages.HeartbeatRequest),
    _api(messages.LeaveGroupRequest),
    _api(messages.SyncGroupRequest),
    _api(messages.DescribeGroupsRequest),
    _api(messages.ListGroupsRequest),
    _api(messages.SaslHandshakeRequest),
    _api(messages.ApiVersionsRequest),
    _api(messages.CreateTopicsRequest),
    _api(messages.DeleteTopicsRequest),
    _api(messages.DeleteRecordsRequest),
    _api(messages.InitProducerIdRequest, (0, 5)),
    _api(messages.OffsetForLeaderEpochRequest),
    _api(messages.AddPartitionsToTxnRequest),
    _api(messages.AddOffsetsToTxnRequest),
    _api(messages.EndTxnRequest),
    _api(messages.WriteTxnMarkersRequest),
    _api(messages.TxnOffsetCommitRequest),
    _api(messages.DescribeAclsRequest),
    _api(messages.CreateAclsRequest),
    _api(messages.DeleteAclsRequest),
    _api(messages.DescribeConfigsRequest),
    _api(messages.AlterConfigsRequest),
    _api(messages.AlterReplicaLogDirsRequest),
    _api(messages.DescribeLogDirsRequest),
    _api(messages.SaslAuthenticateRequest),
    _api(messages.CreatePartitionsRequest),
    _api(messages.CreateDelegationTokenRequest),
    _api(messages.RenewDelegationTokenRequest),
    _api(messages.ExpireDelegationTokenRequest),
    _api(messages.DescribeDelegationTokenRequest),
    _api(messages.DeleteGroupsRequest),
    _api(messages.ElectLeadersRequest),
    _api(messages.IncrementalAlterConfigsRequest),
    _api(messages.AlterPartitionReassignmentsRequest),
    _api(messages.ListPartitionReassignmentsRequest),
    _api(messages.OffsetDeleteRequest),
    _api(messages.DescribeClientQuotasRequest),
    _api(messages.AlterClientQuotasRequest),
    _api(messages.DescribeUserScramCredentialsRequest),
    _api(messages.AlterUserScramCredentialsRequest),
    _api(messages.DescribeQuorumRequest),
    _api(messages.AlterPartitionRequest),
    _api(messages.UpdateFeaturesRequest),
    _api(messages.EnvelopeRequest),
    _api(messages.FetchSnapshotRequest),
    _api(messages.DescribeClusterRequest),
    _api(messages.DescribeProducersRequest),
    _api(messages.BrokerRegistrationRequest),
    _api(messages.BrokerHeartbeatRequest),
    _api(messages.UnregisterBrokerRequest),
    _api(messages.DescribeTransactionsRequest),
    _api(messages.ListTransactionsRequest),
    _api(messages.AllocateProducerIdsRequest),
    _api(messages.ConsumerGroupHeartbeatRequest),
    _api(messages.ConsumerGroupDescribeRequest),
    _api(messages.ControllerRegistrationRequest),
    _api(messages.GetTelemetrySubscriptionsRequest),
    _api(messages.PushTelemetryRequest),
    _api(messages.AssignReplicasToDirsRequest),
    _api(messages.ListConfigResourcesRequest),
    _api(messages.DescribeTopicPartitionsRequest),
    _api(messages.ShareGroupHeartbeatRequest),
    _api(messages.ShareGroupDescribeRequest),
    _api(messages.ShareFetchRequest),
    _api(messages.ShareAcknowledgeRequest),
    _api(messages.AddRaftVoterRequest),
    _api(messages.RemoveRaftVoterRequest),
    _api(messages.InitializeShareGroupStateRequest),
    _api(messages.ReadShareGroupStateRequest),
    _api(messages.WriteShareGroupStateRequest),
    _api(messages.DeleteShareGroupStateRequest),
    _api(messages.ReadShareGroupStateSummaryRequest),
    _api(messages.StreamsGroupHeartbeatRequest),
    _api(messages.StreamsGroupDescribeRequest),
    _api(messages.DescribeShareGroupOffsetsRequest),
    _api(messages.AlterShareGroupOffsetsRequest),
    _api(messages.DeleteShareGroupOffsetsRequest),
)

API: Mapping[ApiKey, Api] = MappingProxyType({api.key: api for api in _APIS})

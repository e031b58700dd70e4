"""The table of APIs: key, name, messages, and the versions that Kafka 4.3 offers, which is the most a node may advertise.

A message's own `versions` say what can be read and written; they differ from the table where Kafka advertises a
version that it refuses (Produce 0 to 2) or has one that is not stable yet (InitProducerId 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from millstream_wire import messages
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
    request: type[Request]
    response: type[Response]
    versions: tuple[int, int]
    flexible: int | None


def _api(request: type[Request], response: type[Response], versions: tuple[int, int] | None = None) -> Api:
    key = ApiKey(request.api_key)
    name = request.__name__.removesuffix("Request")
    return Api(key, name, request, response, versions or request.versions, request.flexible)


_APIS = (
    # KAFKA-18659: without versions 0 to 2 in the answer librdkafka silently stops compressing.
    _api(messages.ProduceRequest, messages.ProduceResponse, (0, 13)),
    _api(messages.FetchRequest, messages.FetchResponse),
    _api(messages.ListOffsetsRequest, messages.ListOffsetsResponse),
    _api(messages.MetadataRequest, messages.MetadataResponse),
    _api(messages.OffsetCommitRequest, messages.OffsetCommitResponse),
    _api(messages.OffsetFetchRequest, messages.OffsetFetchResponse),
    _api(messages.FindCoordinatorRequest, messages.FindCoordinatorResponse),
    _api(messages.JoinGroupRequest, messages.JoinGroupResponse),
    _api(messages.HeartbeatRequest, messages.HeartbeatResponse),
    _api(messages.LeaveGroupRequest, messages.LeaveGroupResponse),
    _api(messages.SyncGroupRequest, messages.SyncGroupResponse),
    _api(messages.DescribeGroupsRequest, messages.DescribeGroupsResponse),
    _api(messages.ListGroupsRequest, messages.ListGroupsResponse),
    _api(messages.SaslHandshakeRequest, messages.SaslHandshakeResponse),
    _api(messages.ApiVersionsRequest, messages.ApiVersionsResponse),
    _api(messages.CreateTopicsRequest, messages.CreateTopicsResponse),
    _api(messages.DeleteTopicsRequest, messages.DeleteTopicsResponse),
    _api(messages.DeleteRecordsRequest, messages.DeleteRecordsResponse),
    _api(messages.InitProducerIdRequest, messages.InitProducerIdResponse, (0, 5)),
    _api(messages.OffsetForLeaderEpochRequest, messages.OffsetForLeaderEpochResponse),
    _api(messages.AddPartitionsToTxnRequest, messages.AddPartitionsToTxnResponse),
    _api(messages.AddOffsetsToTxnRequest, messages.AddOffsetsToTxnResponse),
    _api(messages.EndTxnRequest, messages.EndTxnResponse),
    _api(messages.WriteTxnMarkersRequest, messages.WriteTxnMarkersResponse),
    _api(messages.TxnOffsetCommitRequest, messages.TxnOffsetCommitResponse),
    _api(messages.DescribeAclsRequest, messages.DescribeAclsResponse),
    _api(messages.CreateAclsRequest, messages.CreateAclsResponse),
    _api(messages.DeleteAclsRequest, messages.DeleteAclsResponse),
    _api(messages.DescribeConfigsRequest, messages.DescribeConfigsResponse),
    _api(messages.AlterConfigsRequest, messages.AlterConfigsResponse),
    _api(messages.AlterReplicaLogDirsRequest, messages.AlterReplicaLogDirsResponse),
    _api(messages.DescribeLogDirsRequest, messages.DescribeLogDirsResponse),
    _api(messages.SaslAuthenticateRequest, messages.SaslAuthenticateResponse),
    _api(messages.CreatePartitionsRequest, messages.CreatePartitionsResponse),
    _api(messages.CreateDelegationTokenRequest, messages.CreateDelegationTokenResponse),
    _api(messages.RenewDelegationTokenRequest, messages.RenewDelegationTokenResponse),
    _api(messages.ExpireDelegationTokenRequest, messages.ExpireDelegationTokenResponse),
    _api(messages.DescribeDelegationTokenRequest, messages.DescribeDelegationTokenResponse),
    _api(messages.DeleteGroupsRequest, messages.DeleteGroupsResponse),
    _api(messages.ElectLeadersRequest, messages.ElectLeadersResponse),
    _api(messages.IncrementalAlterConfigsRequest, messages.IncrementalAlterConfigsResponse),
    _api(messages.AlterPartitionReassignmentsRequest, messages.AlterPartitionReassignmentsResponse),
    _api(messages.ListPartitionReassignmentsRequest, messages.ListPartitionReassignmentsResponse),
    _api(messages.OffsetDeleteRequest, messages.OffsetDeleteResponse),
    _api(messages.DescribeClientQuotasRequest, messages.DescribeClientQuotasResponse),
    _api(messages.AlterClientQuotasRequest, messages.AlterClientQuotasResponse),
    _api(messages.DescribeUserScramCredentialsRequest, messages.DescribeUserScramCredentialsResponse),
    _api(messages.AlterUserScramCredentialsRequest, messages.AlterUserScramCredentialsResponse),
    _api(messages.DescribeQuorumRequest, messages.DescribeQuorumResponse),
    _api(messages.AlterPartitionRequest, messages.AlterPartitionResponse),
    _api(messages.UpdateFeaturesRequest, messages.UpdateFeaturesResponse),
    _api(messages.EnvelopeRequest, messages.EnvelopeResponse),
    _api(messages.FetchSnapshotRequest, messages.FetchSnapshotResponse),
    _api(messages.DescribeClusterRequest, messages.DescribeClusterResponse),
    _api(messages.DescribeProducersRequest, messages.DescribeProducersResponse),
    _api(messages.BrokerRegistrationRequest, messages.BrokerRegistrationResponse),
    _api(messages.BrokerHeartbeatRequest, messages.BrokerHeartbeatResponse),
    _api(messages.UnregisterBrokerRequest, messages.UnregisterBrokerResponse),
    _api(messages.DescribeTransactionsRequest, messages.DescribeTransactionsResponse),
    _api(messages.ListTransactionsRequest, messages.ListTransactionsResponse),
    _api(messages.AllocateProducerIdsRequest, messages.AllocateProducerIdsResponse),
    _api(messages.ConsumerGroupHeartbeatRequest, messages.ConsumerGroupHeartbeatResponse),
    _api(messages.ConsumerGroupDescribeRequest, messages.ConsumerGroupDescribeResponse),
    _api(messages.ControllerRegistrationRequest, messages.ControllerRegistrationResponse),
    _api(messages.GetTelemetrySubscriptionsRequest, messages.GetTelemetrySubscriptionsResponse),
    _api(messages.PushTelemetryRequest, messages.PushTelemetryResponse),
    _api(messages.AssignReplicasToDirsRequest, messages.AssignReplicasToDirsResponse),
    _api(messages.ListConfigResourcesRequest, messages.ListConfigResourcesResponse),
    _api(messages.DescribeTopicPartitionsRequest, messages.DescribeTopicPartitionsResponse),
    _api(messages.ShareGroupHeartbeatRequest, messages.ShareGroupHeartbeatResponse),
    _api(messages.ShareGroupDescribeRequest, messages.ShareGroupDescribeResponse),
    _api(messages.ShareFetchRequest, messages.ShareFetchResponse),
    _api(messages.ShareAcknowledgeRequest, messages.ShareAcknowledgeResponse),
    _api(messages.AddRaftVoterRequest, messages.AddRaftVoterResponse),
    _api(messages.RemoveRaftVoterRequest, messages.RemoveRaftVoterResponse),
    _api(messages.InitializeShareGroupStateRequest, messages.InitializeShareGroupStateResponse),
    _api(messages.ReadShareGroupStateRequest, messages.ReadShareGroupStateResponse),
    _api(messages.WriteShareGroupStateRequest, messages.WriteShareGroupStateResponse),
    _api(messages.DeleteShareGroupStateRequest, messages.DeleteShareGroupStateResponse),
    _api(messages.ReadShareGroupStateSummaryRequest, messages.ReadShareGroupStateSummaryResponse),
    _api(messages.StreamsGroupHeartbeatRequest, messages.StreamsGroupHeartbeatResponse),
    _api(messages.StreamsGroupDescribeRequest, messages.StreamsGroupDescribeResponse),
    _api(messages.DescribeShareGroupOffsetsRequest, messages.DescribeShareGroupOffsetsResponse),
    _api(messages.AlterShareGroupOffsetsRequest, messages.AlterShareGroupOffsetsResponse),
    _api(messages.DeleteShareGroupOffsetsRequest, messages.DeleteShareGroupOffsetsResponse),
)

API: Mapping[ApiKey, Api] = MappingProxyType({api.key: api for api in _APIS})

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
    """What is asked for every API before anybody uses it: plain numbers, so that its messages are loaded with their first use."""

    key: ApiKey
    name: str
    versions: tuple[int, int]
    flexible: int | None

    @property
    def request(self) -> type[Request[Any]]:
        found: type[Request[Any]] = getattr(messages, f"{self.name}Request")
        return found

    @property
    def response(self) -> type[Response]:
        found: type[Response] = getattr(messages, f"{self.name}Response")
        return found


_APIS = (
    # KAFKA-18659: without versions 0 to 2 in the answer librdkafka silently stops compressing.
    Api(ApiKey.PRODUCE, "Produce", (0, 13), flexible=9),
    Api(ApiKey.FETCH, "Fetch", (4, 18), flexible=12),
    Api(ApiKey.LIST_OFFSETS, "ListOffsets", (1, 11), flexible=6),
    Api(ApiKey.METADATA, "Metadata", (0, 13), flexible=9),
    Api(ApiKey.OFFSET_COMMIT, "OffsetCommit", (2, 10), flexible=8),
    Api(ApiKey.OFFSET_FETCH, "OffsetFetch", (1, 10), flexible=6),
    Api(ApiKey.FIND_COORDINATOR, "FindCoordinator", (0, 6), flexible=3),
    Api(ApiKey.JOIN_GROUP, "JoinGroup", (0, 9), flexible=6),
    Api(ApiKey.HEARTBEAT, "Heartbeat", (0, 4), flexible=4),
    Api(ApiKey.LEAVE_GROUP, "LeaveGroup", (0, 5), flexible=4),
    Api(ApiKey.SYNC_GROUP, "SyncGroup", (0, 5), flexible=4),
    Api(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", (0, 6), flexible=5),
    Api(ApiKey.LIST_GROUPS, "ListGroups", (0, 5), flexible=3),
    Api(ApiKey.SASL_HANDSHAKE, "SaslHandshake", (0, 1), flexible=None),
    Api(ApiKey.API_VERSIONS, "ApiVersions", (0, 5), flexible=3),
    Api(ApiKey.CREATE_TOPICS, "CreateTopics", (2, 7), flexible=5),
    Api(ApiKey.DELETE_TOPICS, "DeleteTopics", (1, 6), flexible=4),
    Api(ApiKey.DELETE_RECORDS, "DeleteRecords", (0, 2), flexible=2),
    Api(ApiKey.INIT_PRODUCER_ID, "InitProducerId", (0, 5), flexible=2),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", (2, 4), flexible=4),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", (0, 5), flexible=3),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", (0, 4), flexible=3),
    Api(ApiKey.END_TXN, "EndTxn", (0, 5), flexible=3),
    Api(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", (1, 2), flexible=1),
    Api(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", (0, 6), flexible=3),
    Api(ApiKey.DESCRIBE_ACLS, "DescribeAcls", (1, 3), flexible=2),
    Api(ApiKey.CREATE_ACLS, "CreateAcls", (1, 3), flexible=2),
    Api(ApiKey.DELETE_ACLS, "DeleteAcls", (1, 3), flexible=2),
    Api(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", (1, 4), flexible=4),
    Api(ApiKey.ALTER_CONFIGS, "AlterConfigs", (0, 2), flexible=2),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", (1, 2), flexible=2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", (1, 5), flexible=2),
    Api(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", (0, 2), flexible=2),
    Api(ApiKey.CREATE_PARTITIONS, "CreatePartitions", (0, 3), flexible=2),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", (1, 3), flexible=2),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", (1, 2), flexible=2),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", (1, 2), flexible=2),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", (1, 3), flexible=2),
    Api(ApiKey.DELETE_GROUPS, "DeleteGroups", (0, 3), flexible=2),
    Api(ApiKey.ELECT_LEADERS, "ElectLeaders", (0, 2), flexible=2),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", (0, 1), flexible=1),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "AlterPartitionReassignments", (0, 1), flexible=0),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, "ListPartitionReassignments", (0, 0), flexible=0),
    Api(ApiKey.OFFSET_DELETE, "OffsetDelete", (0, 0), flexible=None),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", (0, 1), flexible=1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", (0, 1), flexible=1),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "DescribeUserScramCredentials", (0, 0), flexible=0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", (0, 0), flexible=0),
    Api(ApiKey.DESCRIBE_QUORUM, "DescribeQuorum", (0, 2), flexible=0),
    Api(ApiKey.ALTER_PARTITION, "AlterPartition", (2, 3), flexible=2),
    Api(ApiKey.UPDATE_FEATURES, "UpdateFeatures", (0, 2), flexible=0),
    Api(ApiKey.ENVELOPE, "Envelope", (0, 0), flexible=0),
    Api(ApiKey.FETCH_SNAPSHOT, "FetchSnapshot", (0, 1), flexible=0),
    Api(ApiKey.DESCRIBE_CLUSTER, "DescribeCluster", (0, 2), flexible=0),
    Api(ApiKey.DESCRIBE_PRODUCERS, "DescribeProducers", (0, 0), flexible=0),
    Api(ApiKey.BROKER_REGISTRATION, "BrokerRegistration", (0, 4), flexible=0),
    Api(ApiKey.BROKER_HEARTBEAT, "BrokerHeartbeat", (0, 2), flexible=0),
    Api(ApiKey.UNREGISTER_BROKER, "UnregisterBroker", (0, 0), flexible=0),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, "DescribeTransactions", (0, 0), flexible=0),
    Api(ApiKey.LIST_TRANSACTIONS, "ListTransactions", (0, 2), flexible=0),
    Api(ApiKey.ALLOCATE_PRODUCER_IDS, "AllocateProducerIds", (0, 0), flexible=0),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", (0, 1), flexible=0),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", (0, 1), flexible=0),
    Api(ApiKey.CONTROLLER_REGISTRATION, "ControllerRegistration", (0, 0), flexible=0),
    Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, "GetTelemetrySubscriptions", (0, 0), flexible=0),
    Api(ApiKey.PUSH_TELEMETRY, "PushTelemetry", (0, 0), flexible=0),
    Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "AssignReplicasToDirs", (0, 0), flexible=0),
    Api(ApiKey.LIST_CONFIG_RESOURCES, "ListConfigResources", (0, 1), flexible=0),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", (0, 0), flexible=0),
    Api(ApiKey.SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", (1, 1), flexible=1),
    Api(ApiKey.SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", (1, 1), flexible=1),
    Api(ApiKey.SHARE_FETCH, "ShareFetch", (1, 2), flexible=1),
    Api(ApiKey.SHARE_ACKNOWLEDGE, "ShareAcknowledge", (1, 2), flexible=1),
    Api(ApiKey.ADD_RAFT_VOTER, "AddRaftVoter", (0, 1), flexible=0),
    Api(ApiKey.REMOVE_RAFT_VOTER, "RemoveRaftVoter", (0, 0), flexible=0),
    Api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, "InitializeShareGroupState", (0, 0), flexible=0),
    Api(ApiKey.READ_SHARE_GROUP_STATE, "ReadShareGroupState", (0, 0), flexible=0),
    Api(ApiKey.WRITE_SHARE_GROUP_STATE, "WriteShareGroupState", (0, 1), flexible=0),
    Api(ApiKey.DELETE_SHARE_GROUP_STATE, "DeleteShareGroupState", (0, 0), flexible=0),
    Api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, "ReadShareGroupStateSummary", (0, 1), flexible=0),
    Api(ApiKey.STREAMS_GROUP_HEARTBEAT, "StreamsGroupHeartbeat", (0, 0), flexible=0),
    Api(ApiKey.STREAMS_GROUP_DESCRIBE, "StreamsGroupDescribe", (0, 0), flexible=0),
    Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets", (0, 1), flexible=0),
    Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", (0, 0), flexible=0),
    Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets", (0, 0), flexible=0),
)

API: Mapping[ApiKey, Api] = MappingProxyType({api.key: api for api in _APIS})

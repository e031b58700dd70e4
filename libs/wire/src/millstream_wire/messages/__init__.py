"""Every request and response, by its Kafka name; the module of each is loaded when it is first asked for.

The structs inside them stay in the module of their API. Where a request and a response of one API have structs of the
same name and different content, these carry a `Request` or `Response` prefix.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream_wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
    from millstream_wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
    from millstream_wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
    from millstream_wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
    from millstream_wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
    from millstream_wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
    from millstream_wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from millstream_wire.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )
    from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
    from millstream_wire.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsResponse,
    )
    from millstream_wire.messages.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        AlterUserScramCredentialsResponse,
    )
    from millstream_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
    from millstream_wire.messages.assign_replicas_to_dirs import (
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponse,
    )
    from millstream_wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
    from millstream_wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
    from millstream_wire.messages.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
    )
    from millstream_wire.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from millstream_wire.messages.controller_registration import (
        ControllerRegistrationRequest,
        ControllerRegistrationResponse,
    )
    from millstream_wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
    from millstream_wire.messages.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from millstream_wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
    from millstream_wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from millstream_wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
    from millstream_wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
    from millstream_wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
    from millstream_wire.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsResponse,
    )
    from millstream_wire.messages.delete_share_group_state import (
        DeleteShareGroupStateRequest,
        DeleteShareGroupStateResponse,
    )
    from millstream_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
    from millstream_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
    from millstream_wire.messages.describe_client_quotas import (
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )
    from millstream_wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
    from millstream_wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
    from millstream_wire.messages.describe_delegation_token import (
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    )
    from millstream_wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
    from millstream_wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
    from millstream_wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
    from millstream_wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
    from millstream_wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsResponse,
    )
    from millstream_wire.messages.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
    )
    from millstream_wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
    from millstream_wire.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    )
    from millstream_wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
    from millstream_wire.messages.end_txn import EndTxnRequest, EndTxnResponse
    from millstream_wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
    from millstream_wire.messages.expire_delegation_token import (
        ExpireDelegationTokenRequest,
        ExpireDelegationTokenResponse,
    )
    from millstream_wire.messages.fetch import FetchRequest, FetchResponse
    from millstream_wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
    from millstream_wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
    from millstream_wire.messages.get_telemetry_subscriptions import (
        GetTelemetrySubscriptionsRequest,
        GetTelemetrySubscriptionsResponse,
    )
    from millstream_wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from millstream_wire.messages.incremental_alter_configs import (
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )
    from millstream_wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
    from millstream_wire.messages.initialize_share_group_state import (
        InitializeShareGroupStateRequest,
        InitializeShareGroupStateResponse,
    )
    from millstream_wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from millstream_wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from millstream_wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
    from millstream_wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
    from millstream_wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
    from millstream_wire.messages.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    )
    from millstream_wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
    from millstream_wire.messages.metadata import MetadataRequest, MetadataResponse
    from millstream_wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
    from millstream_wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
    from millstream_wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
    from millstream_wire.messages.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponse,
    )
    from millstream_wire.messages.produce import ProduceRequest, ProduceResponse
    from millstream_wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
    from millstream_wire.messages.read_share_group_state import ReadShareGroupStateRequest, ReadShareGroupStateResponse
    from millstream_wire.messages.read_share_group_state_summary import (
        ReadShareGroupStateSummaryRequest,
        ReadShareGroupStateSummaryResponse,
    )
    from millstream_wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
    from millstream_wire.messages.renew_delegation_token import (
        RenewDelegationTokenRequest,
        RenewDelegationTokenResponse,
    )
    from millstream_wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
    from millstream_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
    from millstream_wire.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
    from millstream_wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
    from millstream_wire.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
    from millstream_wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
    from millstream_wire.messages.streams_group_describe import (
        StreamsGroupDescribeRequest,
        StreamsGroupDescribeResponse,
    )
    from millstream_wire.messages.streams_group_heartbeat import (
        StreamsGroupHeartbeatRequest,
        StreamsGroupHeartbeatResponse,
    )
    from millstream_wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
    from millstream_wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
    from millstream_wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
    from millstream_wire.messages.write_share_group_state import (
        WriteShareGroupStateRequest,
        WriteShareGroupStateResponse,
    )
    from millstream_wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"no message {name!r}")
    api = name.removesuffix("Request").removesuffix("Response")
    module = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in api).removeprefix("_")
    found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


__all__ = [
    "AddOffsetsToTxnRequest",
    "AddOffsetsToTxnResponse",
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddRaftVoterRequest",
    "AddRaftVoterResponse",
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterClientQuotasRequest",
    "AlterClientQuotasResponse",
    "AlterConfigsRequest",
    "AlterConfigsResponse",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterPartitionRequest",
    "AlterPartitionResponse",
    "AlterReplicaLogDirsRequest",
    "AlterReplicaLogDirsResponse",
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "AlterUserScramCredentialsRequest",
    "AlterUserScramCredentialsResponse",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "AssignReplicasToDirsRequest",
    "AssignReplicasToDirsResponse",
    "BrokerHeartbeatRequest",
    "BrokerHeartbeatResponse",
    "BrokerRegistrationRequest",
    "BrokerRegistrationResponse",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ControllerRegistrationRequest",
    "ControllerRegistrationResponse",
    "CreateAclsRequest",
    "CreateAclsResponse",
    "CreateDelegationTokenRequest",
    "CreateDelegationTokenResponse",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteAclsRequest",
    "DeleteAclsResponse",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DeleteRecordsRequest",
    "DeleteRecordsResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DeleteShareGroupStateRequest",
    "DeleteShareGroupStateResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeAclsRequest",
    "DescribeAclsResponse",
    "DescribeClientQuotasRequest",
    "DescribeClientQuotasResponse",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResponse",
    "DescribeDelegationTokenRequest",
    "DescribeDelegationTokenResponse",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribeLogDirsRequest",
    "DescribeLogDirsResponse",
    "DescribeProducersRequest",
    "DescribeProducersResponse",
    "DescribeQuorumRequest",
    "DescribeQuorumResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "DescribeTransactionsRequest",
    "DescribeTransactionsResponse",
    "DescribeUserScramCredentialsRequest",
    "DescribeUserScramCredentialsResponse",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "EndTxnRequest",
    "EndTxnResponse",
    "EnvelopeRequest",
    "EnvelopeResponse",
    "ExpireDelegationTokenRequest",
    "ExpireDelegationTokenResponse",
    "FetchRequest",
    "FetchResponse",
    "FetchSnapshotRequest",
    "FetchSnapshotResponse",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "GetTelemetrySubscriptionsRequest",
    "GetTelemetrySubscriptionsResponse",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "InitProducerIdRequest",
    "InitProducerIdResponse",
    "InitializeShareGroupStateRequest",
    "InitializeShareGroupStateResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "ListTransactionsRequest",
    "ListTransactionsResponse",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetDeleteRequest",
    "OffsetDeleteResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "OffsetForLeaderEpochRequest",
    "OffsetForLeaderEpochResponse",
    "ProduceRequest",
    "ProduceResponse",
    "PushTelemetryRequest",
    "PushTelemetryResponse",
    "ReadShareGroupStateRequest",
    "ReadShareGroupStateResponse",
    "ReadShareGroupStateSummaryRequest",
    "ReadShareGroupStateSummaryResponse",
    "RemoveRaftVoterRequest",
    "RemoveRaftVoterResponse",
    "RenewDelegationTokenRequest",
    "RenewDelegationTokenResponse",
    "SaslAuthenticateRequest",
    "SaslAuthenticateResponse",
    "SaslHandshakeRequest",
    "SaslHandshakeResponse",
    "ShareAcknowledgeRequest",
    "ShareAcknowledgeResponse",
    "ShareFetchRequest",
    "ShareFetchResponse",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "ShareGroupHeartbeatRequest",
    "ShareGroupHeartbeatResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
    "StreamsGroupHeartbeatRequest",
    "StreamsGroupHeartbeatResponse",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitResponse",
    "UnregisterBrokerRequest",
    "UnregisterBrokerResponse",
    "UpdateFeaturesRequest",
    "UpdateFeaturesResponse",
    "WriteShareGroupStateRequest",
    "WriteShareGroupStateResponse",
    "WriteTxnMarkersRequest",
    "WriteTxnMarkersResponse",
]

"""The APIs a coordinator serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_coordinator.api.acl_requests import handle_acl_change, handle_describe_acls
from millstream_coordinator.api.add_offsets_to_txn import handle_add_offsets_to_txn
from millstream_coordinator.api.add_partitions_to_txn import handle_add_partitions_to_txn
from millstream_coordinator.api.alter_share_group_offsets import handle_alter_share_group_offsets
from millstream_coordinator.api.consumer_group_describe import handle_consumer_group_describe
from millstream_coordinator.api.consumer_group_heartbeat import handle_consumer_group_heartbeat
from millstream_coordinator.api.delete_groups import handle_delete_groups
from millstream_coordinator.api.delete_share_group_offsets import handle_delete_share_group_offsets
from millstream_coordinator.api.describe_client_quotas import handle_describe_client_quotas
from millstream_coordinator.api.describe_cluster import handle_describe_cluster
from millstream_coordinator.api.describe_configs import handle_describe_configs
from millstream_coordinator.api.describe_groups import handle_describe_groups
from millstream_coordinator.api.describe_log_dirs import handle_describe_log_dirs
from millstream_coordinator.api.describe_share_group_offsets import handle_describe_share_group_offsets
from millstream_coordinator.api.describe_topic_partitions import handle_describe_topic_partitions
from millstream_coordinator.api.describe_transactions import handle_describe_transactions
from millstream_coordinator.api.end_txn import handle_end_txn
from millstream_coordinator.api.find_coordinator import handle_find_coordinator
from millstream_coordinator.api.forwarded import handle_forwarded
from millstream_coordinator.api.heartbeat import handle_heartbeat
from millstream_coordinator.api.incremental_alter_configs import handle_incremental_alter_configs
from millstream_coordinator.api.init_producer_id import handle_init_producer_id
from millstream_coordinator.api.join_group import handle_join_group
from millstream_coordinator.api.leave_group import handle_leave_group
from millstream_coordinator.api.list_config_resources import handle_list_config_resources
from millstream_coordinator.api.list_groups import handle_list_groups
from millstream_coordinator.api.list_partition_reassignments import handle_list_partition_reassignments
from millstream_coordinator.api.list_transactions import handle_list_transactions
from millstream_coordinator.api.login_requests import (
    handle_describe_delegation_token,
    handle_describe_user_scram_credentials,
    handle_login_out_of_place,
    handle_token_request,
)
from millstream_coordinator.api.metadata import handle_metadata
from millstream_coordinator.api.offset_commit import handle_offset_commit
from millstream_coordinator.api.offset_delete import handle_offset_delete
from millstream_coordinator.api.offset_fetch import handle_offset_fetch
from millstream_coordinator.api.produce import handle_produce
from millstream_coordinator.api.share_group_describe import handle_share_group_describe
from millstream_coordinator.api.share_group_heartbeat import handle_share_group_heartbeat
from millstream_coordinator.api.share_group_state import (
    handle_delete_share_group_state,
    handle_initialize_share_group_state,
    handle_read_share_group_state,
    handle_read_share_group_state_summary,
    handle_write_share_group_state,
)
from millstream_coordinator.api.sync_group import handle_sync_group
from millstream_coordinator.api.telemetry_requests import handle_get_telemetry_subscriptions, handle_push_telemetry
from millstream_coordinator.api.txn_offset_commit import handle_txn_offset_commit
from millstream_coordinator.api.write_txn_markers import handle_write_txn_markers
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.handlers import Handlers, serve
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

HANDLERS: Handlers[Coordinator] = {
    ApiKey.PRODUCE: serve(m.ProduceRequest, handle_produce),
    ApiKey.METADATA: serve(m.MetadataRequest, handle_metadata),
    ApiKey.OFFSET_COMMIT: serve(m.OffsetCommitRequest, handle_offset_commit, changes=True),
    ApiKey.OFFSET_FETCH: serve(m.OffsetFetchRequest, handle_offset_fetch),
    ApiKey.FIND_COORDINATOR: serve(m.FindCoordinatorRequest, handle_find_coordinator),
    ApiKey.JOIN_GROUP: serve(m.JoinGroupRequest, handle_join_group),
    ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, handle_heartbeat),
    ApiKey.LEAVE_GROUP: serve(m.LeaveGroupRequest, handle_leave_group, changes=True),
    ApiKey.SYNC_GROUP: serve(m.SyncGroupRequest, handle_sync_group),
    ApiKey.DESCRIBE_GROUPS: serve(m.DescribeGroupsRequest, handle_describe_groups),
    ApiKey.LIST_GROUPS: serve(m.ListGroupsRequest, handle_list_groups),
    ApiKey.SASL_HANDSHAKE: serve(m.SaslHandshakeRequest, handle_login_out_of_place),
    ApiKey.CREATE_TOPICS: serve(m.CreateTopicsRequest, handle_forwarded),
    ApiKey.DELETE_TOPICS: serve(m.DeleteTopicsRequest, handle_forwarded),
    ApiKey.INIT_PRODUCER_ID: serve(m.InitProducerIdRequest, handle_init_producer_id),
    ApiKey.ADD_PARTITIONS_TO_TXN: serve(m.AddPartitionsToTxnRequest, handle_add_partitions_to_txn),
    ApiKey.ADD_OFFSETS_TO_TXN: serve(m.AddOffsetsToTxnRequest, handle_add_offsets_to_txn),
    ApiKey.END_TXN: serve(m.EndTxnRequest, handle_end_txn),
    ApiKey.WRITE_TXN_MARKERS: serve(m.WriteTxnMarkersRequest, handle_write_txn_markers, changes=True),
    ApiKey.TXN_OFFSET_COMMIT: serve(m.TxnOffsetCommitRequest, handle_txn_offset_commit),
    ApiKey.DESCRIBE_ACLS: serve(m.DescribeAclsRequest, handle_describe_acls),
    ApiKey.CREATE_ACLS: serve(m.CreateAclsRequest, handle_acl_change),
    ApiKey.DELETE_ACLS: serve(m.DeleteAclsRequest, handle_acl_change),
    ApiKey.DESCRIBE_CONFIGS: serve(m.DescribeConfigsRequest, handle_describe_configs),
    ApiKey.ALTER_CONFIGS: serve(m.AlterConfigsRequest, handle_forwarded),
    ApiKey.DESCRIBE_LOG_DIRS: serve(m.DescribeLogDirsRequest, handle_describe_log_dirs),
    ApiKey.SASL_AUTHENTICATE: serve(m.SaslAuthenticateRequest, handle_login_out_of_place),
    ApiKey.CREATE_PARTITIONS: serve(m.CreatePartitionsRequest, handle_forwarded),
    ApiKey.CREATE_DELEGATION_TOKEN: serve(m.CreateDelegationTokenRequest, handle_token_request),
    ApiKey.RENEW_DELEGATION_TOKEN: serve(m.RenewDelegationTokenRequest, handle_token_request),
    ApiKey.EXPIRE_DELEGATION_TOKEN: serve(m.ExpireDelegationTokenRequest, handle_token_request),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: serve(m.DescribeDelegationTokenRequest, handle_describe_delegation_token),
    ApiKey.DELETE_GROUPS: serve(m.DeleteGroupsRequest, handle_delete_groups, changes=True),
    ApiKey.ELECT_LEADERS: serve(m.ElectLeadersRequest, handle_forwarded),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: serve(
        m.IncrementalAlterConfigsRequest, handle_incremental_alter_configs, changes=True
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: serve(m.AlterPartitionReassignmentsRequest, handle_forwarded),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: serve(
        m.ListPartitionReassignmentsRequest, handle_list_partition_reassignments
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: serve(m.DescribeClientQuotasRequest, handle_describe_client_quotas),
    ApiKey.ALTER_CLIENT_QUOTAS: serve(m.AlterClientQuotasRequest, handle_forwarded),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: serve(
        m.DescribeUserScramCredentialsRequest, handle_describe_user_scram_credentials
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: serve(m.AlterUserScramCredentialsRequest, handle_forwarded),
    ApiKey.OFFSET_DELETE: serve(m.OffsetDeleteRequest, handle_offset_delete, changes=True),
    ApiKey.DESCRIBE_QUORUM: serve(m.DescribeQuorumRequest, handle_forwarded),
    ApiKey.UPDATE_FEATURES: serve(m.UpdateFeaturesRequest, handle_forwarded),
    ApiKey.DESCRIBE_CLUSTER: serve(m.DescribeClusterRequest, handle_describe_cluster),
    ApiKey.UNREGISTER_BROKER: serve(m.UnregisterBrokerRequest, handle_forwarded),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: serve(m.ConsumerGroupHeartbeatRequest, handle_consumer_group_heartbeat),
    ApiKey.CONSUMER_GROUP_DESCRIBE: serve(m.ConsumerGroupDescribeRequest, handle_consumer_group_describe),
    ApiKey.DESCRIBE_TRANSACTIONS: serve(m.DescribeTransactionsRequest, handle_describe_transactions),
    ApiKey.LIST_TRANSACTIONS: serve(m.ListTransactionsRequest, handle_list_transactions),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: serve(m.GetTelemetrySubscriptionsRequest, handle_get_telemetry_subscriptions),
    ApiKey.PUSH_TELEMETRY: serve(m.PushTelemetryRequest, handle_push_telemetry),
    ApiKey.LIST_CONFIG_RESOURCES: serve(m.ListConfigResourcesRequest, handle_list_config_resources),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: serve(m.DescribeTopicPartitionsRequest, handle_describe_topic_partitions),
    ApiKey.SHARE_GROUP_HEARTBEAT: serve(m.ShareGroupHeartbeatRequest, handle_share_group_heartbeat),
    ApiKey.SHARE_GROUP_DESCRIBE: serve(m.ShareGroupDescribeRequest, handle_share_group_describe),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: serve(m.InitializeShareGroupStateRequest, handle_initialize_share_group_state),
    ApiKey.READ_SHARE_GROUP_STATE: serve(m.ReadShareGroupStateRequest, handle_read_share_group_state),
    ApiKey.WRITE_SHARE_GROUP_STATE: serve(m.WriteShareGroupStateRequest, handle_write_share_group_state),
    ApiKey.DELETE_SHARE_GROUP_STATE: serve(m.DeleteShareGroupStateRequest, handle_delete_share_group_state),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: serve(
        m.ReadShareGroupStateSummaryRequest, handle_read_share_group_state_summary
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: serve(m.DescribeShareGroupOffsetsRequest, handle_describe_share_group_offsets),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: serve(
        m.AlterShareGroupOffsetsRequest, handle_alter_share_group_offsets, changes=True
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: serve(
        m.DeleteShareGroupOffsetsRequest, handle_delete_share_group_offsets, changes=True
    ),
}

UNADVERTISED = frozenset(
    {
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
"""What only nodes of the cluster send."""

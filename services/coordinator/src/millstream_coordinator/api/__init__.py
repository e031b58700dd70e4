"""The APIs a coordinator serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.handlers import Handlers, late, serve
from millstream_runtime.serving.late_imports import late_imports
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

with late_imports("millstream_coordinator.api"):
    from millstream_coordinator.api import (
        acl_requests,
        add_offsets_to_txn,
        add_partitions_to_txn,
        alter_share_group_offsets,
        consumer_group_describe,
        consumer_group_heartbeat,
        delete_groups,
        delete_share_group_offsets,
        describe_client_quotas,
        describe_cluster,
        describe_configs,
        describe_groups,
        describe_log_dirs,
        describe_share_group_offsets,
        describe_topic_partitions,
        describe_transactions,
        end_txn,
        find_coordinator,
        forwarded,
        heartbeat,
        incremental_alter_configs,
        init_producer_id,
        join_group,
        leave_group,
        list_config_resources,
        list_groups,
        list_partition_reassignments,
        list_transactions,
        login_requests,
        metadata,
        offset_commit,
        offset_delete,
        offset_fetch,
        produce,
        share_group_describe,
        share_group_heartbeat,
        share_group_state,
        sync_group,
        telemetry_requests,
        txn_offset_commit,
        write_txn_markers,
    )

HANDLERS: Handlers[Coordinator] = {
    ApiKey.PRODUCE: late(lambda: serve(m.ProduceRequest, produce.handle_produce)),
    ApiKey.METADATA: late(lambda: serve(m.MetadataRequest, metadata.handle_metadata)),
    ApiKey.OFFSET_COMMIT: late(lambda: serve(m.OffsetCommitRequest, offset_commit.handle_offset_commit, changes=True)),
    ApiKey.OFFSET_FETCH: late(lambda: serve(m.OffsetFetchRequest, offset_fetch.handle_offset_fetch)),
    ApiKey.FIND_COORDINATOR: late(lambda: serve(m.FindCoordinatorRequest, find_coordinator.handle_find_coordinator)),
    ApiKey.JOIN_GROUP: late(lambda: serve(m.JoinGroupRequest, join_group.handle_join_group)),
    ApiKey.HEARTBEAT: late(lambda: serve(m.HeartbeatRequest, heartbeat.handle_heartbeat)),
    ApiKey.LEAVE_GROUP: late(lambda: serve(m.LeaveGroupRequest, leave_group.handle_leave_group, changes=True)),
    ApiKey.SYNC_GROUP: late(lambda: serve(m.SyncGroupRequest, sync_group.handle_sync_group)),
    ApiKey.DESCRIBE_GROUPS: late(lambda: serve(m.DescribeGroupsRequest, describe_groups.handle_describe_groups)),
    ApiKey.LIST_GROUPS: late(lambda: serve(m.ListGroupsRequest, list_groups.handle_list_groups)),
    ApiKey.SASL_HANDSHAKE: late(lambda: serve(m.SaslHandshakeRequest, login_requests.handle_login_out_of_place)),
    ApiKey.CREATE_TOPICS: late(lambda: serve(m.CreateTopicsRequest, forwarded.handle_forwarded)),
    ApiKey.DELETE_TOPICS: late(lambda: serve(m.DeleteTopicsRequest, forwarded.handle_forwarded)),
    ApiKey.INIT_PRODUCER_ID: late(lambda: serve(m.InitProducerIdRequest, init_producer_id.handle_init_producer_id)),
    ApiKey.ADD_PARTITIONS_TO_TXN: late(
        lambda: serve(m.AddPartitionsToTxnRequest, add_partitions_to_txn.handle_add_partitions_to_txn)
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: late(
        lambda: serve(m.AddOffsetsToTxnRequest, add_offsets_to_txn.handle_add_offsets_to_txn)
    ),
    ApiKey.END_TXN: late(lambda: serve(m.EndTxnRequest, end_txn.handle_end_txn)),
    ApiKey.WRITE_TXN_MARKERS: late(
        lambda: serve(m.WriteTxnMarkersRequest, write_txn_markers.handle_write_txn_markers, changes=True)
    ),
    ApiKey.TXN_OFFSET_COMMIT: late(lambda: serve(m.TxnOffsetCommitRequest, txn_offset_commit.handle_txn_offset_commit)),
    ApiKey.DESCRIBE_ACLS: late(lambda: serve(m.DescribeAclsRequest, acl_requests.handle_describe_acls)),
    ApiKey.CREATE_ACLS: late(lambda: serve(m.CreateAclsRequest, acl_requests.handle_acl_change)),
    ApiKey.DELETE_ACLS: late(lambda: serve(m.DeleteAclsRequest, acl_requests.handle_acl_change)),
    ApiKey.DESCRIBE_CONFIGS: late(lambda: serve(m.DescribeConfigsRequest, describe_configs.handle_describe_configs)),
    ApiKey.ALTER_CONFIGS: late(lambda: serve(m.AlterConfigsRequest, forwarded.handle_forwarded)),
    ApiKey.DESCRIBE_LOG_DIRS: late(lambda: serve(m.DescribeLogDirsRequest, describe_log_dirs.handle_describe_log_dirs)),
    ApiKey.SASL_AUTHENTICATE: late(lambda: serve(m.SaslAuthenticateRequest, login_requests.handle_login_out_of_place)),
    ApiKey.CREATE_PARTITIONS: late(lambda: serve(m.CreatePartitionsRequest, forwarded.handle_forwarded)),
    ApiKey.CREATE_DELEGATION_TOKEN: late(
        lambda: serve(m.CreateDelegationTokenRequest, login_requests.handle_token_request)
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: late(
        lambda: serve(m.RenewDelegationTokenRequest, login_requests.handle_token_request)
    ),
    ApiKey.EXPIRE_DELEGATION_TOKEN: late(
        lambda: serve(m.ExpireDelegationTokenRequest, login_requests.handle_token_request)
    ),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: late(
        lambda: serve(m.DescribeDelegationTokenRequest, login_requests.handle_describe_delegation_token)
    ),
    ApiKey.DELETE_GROUPS: late(lambda: serve(m.DeleteGroupsRequest, delete_groups.handle_delete_groups, changes=True)),
    ApiKey.ELECT_LEADERS: late(lambda: serve(m.ElectLeadersRequest, forwarded.handle_forwarded)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: late(
        lambda: serve(
            m.IncrementalAlterConfigsRequest, incremental_alter_configs.handle_incremental_alter_configs, changes=True
        )
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: late(
        lambda: serve(m.AlterPartitionReassignmentsRequest, forwarded.handle_forwarded)
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: late(
        lambda: serve(
            m.ListPartitionReassignmentsRequest, list_partition_reassignments.handle_list_partition_reassignments
        )
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: late(
        lambda: serve(m.DescribeClientQuotasRequest, describe_client_quotas.handle_describe_client_quotas)
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: late(lambda: serve(m.AlterClientQuotasRequest, forwarded.handle_forwarded)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: late(
        lambda: serve(m.DescribeUserScramCredentialsRequest, login_requests.handle_describe_user_scram_credentials)
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: late(
        lambda: serve(m.AlterUserScramCredentialsRequest, forwarded.handle_forwarded)
    ),
    ApiKey.OFFSET_DELETE: late(lambda: serve(m.OffsetDeleteRequest, offset_delete.handle_offset_delete, changes=True)),
    ApiKey.DESCRIBE_QUORUM: late(lambda: serve(m.DescribeQuorumRequest, forwarded.handle_forwarded)),
    ApiKey.UPDATE_FEATURES: late(lambda: serve(m.UpdateFeaturesRequest, forwarded.handle_forwarded)),
    ApiKey.DESCRIBE_CLUSTER: late(lambda: serve(m.DescribeClusterRequest, describe_cluster.handle_describe_cluster)),
    ApiKey.UNREGISTER_BROKER: late(lambda: serve(m.UnregisterBrokerRequest, forwarded.handle_forwarded)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: late(
        lambda: serve(m.ConsumerGroupHeartbeatRequest, consumer_group_heartbeat.handle_consumer_group_heartbeat)
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: late(
        lambda: serve(m.ConsumerGroupDescribeRequest, consumer_group_describe.handle_consumer_group_describe)
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: late(
        lambda: serve(m.DescribeTransactionsRequest, describe_transactions.handle_describe_transactions)
    ),
    ApiKey.LIST_TRANSACTIONS: late(
        lambda: serve(m.ListTransactionsRequest, list_transactions.handle_list_transactions)
    ),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: late(
        lambda: serve(m.GetTelemetrySubscriptionsRequest, telemetry_requests.handle_get_telemetry_subscriptions)
    ),
    ApiKey.PUSH_TELEMETRY: late(lambda: serve(m.PushTelemetryRequest, telemetry_requests.handle_push_telemetry)),
    ApiKey.LIST_CONFIG_RESOURCES: late(
        lambda: serve(m.ListConfigResourcesRequest, list_config_resources.handle_list_config_resources)
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: late(
        lambda: serve(m.DescribeTopicPartitionsRequest, describe_topic_partitions.handle_describe_topic_partitions)
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: late(
        lambda: serve(m.ShareGroupHeartbeatRequest, share_group_heartbeat.handle_share_group_heartbeat)
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: late(
        lambda: serve(m.ShareGroupDescribeRequest, share_group_describe.handle_share_group_describe)
    ),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: late(
        lambda: serve(m.InitializeShareGroupStateRequest, share_group_state.handle_initialize_share_group_state)
    ),
    ApiKey.READ_SHARE_GROUP_STATE: late(
        lambda: serve(m.ReadShareGroupStateRequest, share_group_state.handle_read_share_group_state)
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: late(
        lambda: serve(m.WriteShareGroupStateRequest, share_group_state.handle_write_share_group_state)
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: late(
        lambda: serve(m.DeleteShareGroupStateRequest, share_group_state.handle_delete_share_group_state)
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: late(
        lambda: serve(m.ReadShareGroupStateSummaryRequest, share_group_state.handle_read_share_group_state_summary)
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: late(
        lambda: serve(
            m.DescribeShareGroupOffsetsRequest, describe_share_group_offsets.handle_describe_share_group_offsets
        )
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: late(
        lambda: serve(
            m.AlterShareGroupOffsetsRequest, alter_share_group_offsets.handle_alter_share_group_offsets, changes=True
        )
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: late(
        lambda: serve(
            m.DeleteShareGroupOffsetsRequest, delete_share_group_offsets.handle_delete_share_group_offsets, changes=True
        )
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

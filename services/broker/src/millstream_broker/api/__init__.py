"""The APIs a broker serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_broker.api import fetch, produce
from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.handlers import Handlers, late, serve
from millstream_runtime.serving.late_imports import late_imports
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

with late_imports("millstream_broker.api"):
    from millstream_broker.api import (
        acl_requests,
        alter_replica_log_dirs,
        delete_records,
        describe_client_quotas,
        describe_cluster,
        describe_configs,
        describe_log_dirs,
        describe_producers,
        describe_topic_partitions,
        find_coordinator,
        forwarded,
        get_telemetry_subscriptions,
        group_requests,
        incremental_alter_configs,
        init_producer_id,
        list_config_resources,
        list_offsets,
        list_partition_reassignments,
        login_requests,
        metadata,
        offset_for_leader_epoch,
        push_telemetry,
        share_acknowledge,
        share_fetch,
        topic_requests,
        transaction_requests,
        write_txn_markers,
    )

HANDLERS: Handlers[Broker] = {
    ApiKey.PRODUCE: serve(m.ProduceRequest, produce.handle_produce, shortcut=produce.answer_single_produce),
    ApiKey.FETCH: serve(m.FetchRequest, fetch.handle_fetch, shortcut=fetch.answer_usual_fetch),
    ApiKey.LIST_OFFSETS: late(lambda: serve(m.ListOffsetsRequest, list_offsets.handle_list_offsets)),
    ApiKey.METADATA: late(lambda: serve(m.MetadataRequest, metadata.handle_metadata)),
    ApiKey.OFFSET_COMMIT: late(lambda: serve(m.OffsetCommitRequest, group_requests.handle_group_request)),
    ApiKey.OFFSET_FETCH: late(lambda: serve(m.OffsetFetchRequest, group_requests.handle_group_request)),
    ApiKey.FIND_COORDINATOR: late(lambda: serve(m.FindCoordinatorRequest, find_coordinator.handle_find_coordinator)),
    ApiKey.JOIN_GROUP: late(lambda: serve(m.JoinGroupRequest, group_requests.handle_group_request)),
    ApiKey.HEARTBEAT: late(lambda: serve(m.HeartbeatRequest, group_requests.handle_group_request)),
    ApiKey.LEAVE_GROUP: late(lambda: serve(m.LeaveGroupRequest, group_requests.handle_group_request)),
    ApiKey.SYNC_GROUP: late(lambda: serve(m.SyncGroupRequest, group_requests.handle_group_request)),
    ApiKey.DESCRIBE_GROUPS: late(lambda: serve(m.DescribeGroupsRequest, group_requests.handle_group_request)),
    ApiKey.LIST_GROUPS: late(lambda: serve(m.ListGroupsRequest, group_requests.handle_list_groups)),
    ApiKey.SASL_HANDSHAKE: late(lambda: serve(m.SaslHandshakeRequest, login_requests.handle_login_out_of_place)),
    ApiKey.CREATE_TOPICS: late(lambda: serve(m.CreateTopicsRequest, topic_requests.handle_create_topics)),
    ApiKey.DELETE_TOPICS: late(lambda: serve(m.DeleteTopicsRequest, topic_requests.handle_delete_topics)),
    ApiKey.DELETE_RECORDS: late(
        lambda: serve(m.DeleteRecordsRequest, delete_records.handle_delete_records, changes=True)
    ),
    ApiKey.INIT_PRODUCER_ID: late(lambda: serve(m.InitProducerIdRequest, init_producer_id.handle_init_producer_id)),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: late(
        lambda: serve(m.OffsetForLeaderEpochRequest, offset_for_leader_epoch.handle_offset_for_leader_epoch)
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: late(
        lambda: serve(m.AddPartitionsToTxnRequest, transaction_requests.handle_transaction_request)
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: late(
        lambda: serve(m.AddOffsetsToTxnRequest, transaction_requests.handle_transaction_request)
    ),
    ApiKey.END_TXN: late(lambda: serve(m.EndTxnRequest, transaction_requests.handle_transaction_request)),
    ApiKey.WRITE_TXN_MARKERS: late(
        lambda: serve(m.WriteTxnMarkersRequest, write_txn_markers.handle_write_txn_markers, changes=True)
    ),
    ApiKey.TXN_OFFSET_COMMIT: late(
        lambda: serve(m.TxnOffsetCommitRequest, transaction_requests.handle_transaction_request)
    ),
    ApiKey.DESCRIBE_ACLS: late(lambda: serve(m.DescribeAclsRequest, acl_requests.handle_describe_acls)),
    ApiKey.CREATE_ACLS: late(lambda: serve(m.CreateAclsRequest, acl_requests.handle_acl_change)),
    ApiKey.DELETE_ACLS: late(lambda: serve(m.DeleteAclsRequest, acl_requests.handle_acl_change)),
    ApiKey.DESCRIBE_CONFIGS: late(lambda: serve(m.DescribeConfigsRequest, describe_configs.handle_describe_configs)),
    ApiKey.ALTER_CONFIGS: late(lambda: serve(m.AlterConfigsRequest, forwarded.handle_forwarded)),
    ApiKey.ALTER_REPLICA_LOG_DIRS: late(
        lambda: serve(m.AlterReplicaLogDirsRequest, alter_replica_log_dirs.handle_alter_replica_log_dirs, changes=True)
    ),
    ApiKey.DESCRIBE_LOG_DIRS: late(lambda: serve(m.DescribeLogDirsRequest, describe_log_dirs.handle_describe_log_dirs)),
    ApiKey.SASL_AUTHENTICATE: late(lambda: serve(m.SaslAuthenticateRequest, login_requests.handle_login_out_of_place)),
    ApiKey.CREATE_PARTITIONS: late(lambda: serve(m.CreatePartitionsRequest, topic_requests.handle_create_partitions)),
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
    ApiKey.DELETE_GROUPS: late(lambda: serve(m.DeleteGroupsRequest, group_requests.handle_group_request)),
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
    ApiKey.OFFSET_DELETE: late(lambda: serve(m.OffsetDeleteRequest, group_requests.handle_group_request)),
    ApiKey.DESCRIBE_QUORUM: late(lambda: serve(m.DescribeQuorumRequest, forwarded.handle_forwarded)),
    ApiKey.UPDATE_FEATURES: late(lambda: serve(m.UpdateFeaturesRequest, forwarded.handle_forwarded)),
    ApiKey.DESCRIBE_CLUSTER: late(lambda: serve(m.DescribeClusterRequest, describe_cluster.handle_describe_cluster)),
    ApiKey.DESCRIBE_PRODUCERS: late(
        lambda: serve(m.DescribeProducersRequest, describe_producers.handle_describe_producers)
    ),
    ApiKey.UNREGISTER_BROKER: late(lambda: serve(m.UnregisterBrokerRequest, forwarded.handle_forwarded)),
    ApiKey.DESCRIBE_TRANSACTIONS: late(
        lambda: serve(m.DescribeTransactionsRequest, transaction_requests.handle_transaction_request)
    ),
    ApiKey.LIST_TRANSACTIONS: late(lambda: serve(m.ListTransactionsRequest, group_requests.handle_list_transactions)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: late(
        lambda: serve(m.ConsumerGroupHeartbeatRequest, group_requests.handle_group_request)
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: late(
        lambda: serve(m.ConsumerGroupDescribeRequest, group_requests.handle_group_request)
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: late(
        lambda: serve(m.ShareGroupHeartbeatRequest, group_requests.handle_group_request)
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: late(lambda: serve(m.ShareGroupDescribeRequest, group_requests.handle_group_request)),
    ApiKey.SHARE_FETCH: late(lambda: serve(m.ShareFetchRequest, share_fetch.handle_share_fetch)),
    ApiKey.SHARE_ACKNOWLEDGE: late(
        lambda: serve(m.ShareAcknowledgeRequest, share_acknowledge.handle_share_acknowledge)
    ),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: late(
        lambda: serve(
            m.GetTelemetrySubscriptionsRequest, get_telemetry_subscriptions.handle_get_telemetry_subscriptions
        )
    ),
    ApiKey.PUSH_TELEMETRY: late(lambda: serve(m.PushTelemetryRequest, push_telemetry.handle_push_telemetry)),
    ApiKey.LIST_CONFIG_RESOURCES: late(
        lambda: serve(m.ListConfigResourcesRequest, list_config_resources.handle_list_config_resources)
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: late(
        lambda: serve(m.DescribeTopicPartitionsRequest, describe_topic_partitions.handle_describe_topic_partitions)
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: late(
        lambda: serve(m.DescribeShareGroupOffsetsRequest, group_requests.handle_group_request)
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: late(
        lambda: serve(m.AlterShareGroupOffsetsRequest, group_requests.handle_group_request)
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: late(
        lambda: serve(m.DeleteShareGroupOffsetsRequest, group_requests.handle_group_request)
    ),
}

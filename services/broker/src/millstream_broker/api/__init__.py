"""The APIs a broker serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_broker.api.acl_requests import handle_acl_change, handle_describe_acls
from millstream_broker.api.alter_replica_log_dirs import handle_alter_replica_log_dirs
from millstream_broker.api.delete_records import handle_delete_records
from millstream_broker.api.describe_client_quotas import handle_describe_client_quotas
from millstream_broker.api.describe_cluster import handle_describe_cluster
from millstream_broker.api.describe_configs import handle_describe_configs
from millstream_broker.api.describe_log_dirs import handle_describe_log_dirs
from millstream_broker.api.describe_producers import handle_describe_producers
from millstream_broker.api.describe_topic_partitions import handle_describe_topic_partitions
from millstream_broker.api.fetch import answer_usual_fetch, handle_fetch
from millstream_broker.api.find_coordinator import handle_find_coordinator
from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.api.group_requests import handle_group_request, handle_list_groups, handle_list_transactions
from millstream_broker.api.incremental_alter_configs import handle_incremental_alter_configs
from millstream_broker.api.init_producer_id import handle_init_producer_id
from millstream_broker.api.late import (
    handle_get_telemetry_subscriptions,
    handle_push_telemetry,
    handle_share_acknowledge,
    handle_share_fetch,
)
from millstream_broker.api.list_config_resources import handle_list_config_resources
from millstream_broker.api.list_offsets import handle_list_offsets
from millstream_broker.api.list_partition_reassignments import handle_list_partition_reassignments
from millstream_broker.api.login_requests import (
    handle_describe_delegation_token,
    handle_describe_user_scram_credentials,
    handle_login_out_of_place,
    handle_token_request,
)
from millstream_broker.api.metadata import handle_metadata
from millstream_broker.api.offset_for_leader_epoch import handle_offset_for_leader_epoch
from millstream_broker.api.produce import answer_single_produce, handle_produce
from millstream_broker.api.topic_requests import handle_create_partitions, handle_create_topics, handle_delete_topics
from millstream_broker.api.transaction_requests import handle_transaction_request
from millstream_broker.api.write_txn_markers import handle_write_txn_markers
from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.handlers import Handlers, serve
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

HANDLERS: Handlers[Broker] = {
    ApiKey.PRODUCE: serve(m.ProduceRequest, handle_produce, shortcut=answer_single_produce),
    ApiKey.FETCH: serve(m.FetchRequest, handle_fetch, shortcut=answer_usual_fetch),
    ApiKey.LIST_OFFSETS: serve(m.ListOffsetsRequest, handle_list_offsets),
    ApiKey.METADATA: serve(m.MetadataRequest, handle_metadata),
    ApiKey.OFFSET_COMMIT: serve(m.OffsetCommitRequest, handle_group_request),
    ApiKey.OFFSET_FETCH: serve(m.OffsetFetchRequest, handle_group_request),
    ApiKey.FIND_COORDINATOR: serve(m.FindCoordinatorRequest, handle_find_coordinator),
    ApiKey.JOIN_GROUP: serve(m.JoinGroupRequest, handle_group_request),
    ApiKey.HEARTBEAT: serve(m.HeartbeatRequest, handle_group_request),
    ApiKey.LEAVE_GROUP: serve(m.LeaveGroupRequest, handle_group_request),
    ApiKey.SYNC_GROUP: serve(m.SyncGroupRequest, handle_group_request),
    ApiKey.DESCRIBE_GROUPS: serve(m.DescribeGroupsRequest, handle_group_request),
    ApiKey.LIST_GROUPS: serve(m.ListGroupsRequest, handle_list_groups),
    ApiKey.SASL_HANDSHAKE: serve(m.SaslHandshakeRequest, handle_login_out_of_place),
    ApiKey.CREATE_TOPICS: serve(m.CreateTopicsRequest, handle_create_topics),
    ApiKey.DELETE_TOPICS: serve(m.DeleteTopicsRequest, handle_delete_topics),
    ApiKey.DELETE_RECORDS: serve(m.DeleteRecordsRequest, handle_delete_records, changes=True),
    ApiKey.INIT_PRODUCER_ID: serve(m.InitProducerIdRequest, handle_init_producer_id),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: serve(m.OffsetForLeaderEpochRequest, handle_offset_for_leader_epoch),
    ApiKey.ADD_PARTITIONS_TO_TXN: serve(m.AddPartitionsToTxnRequest, handle_transaction_request),
    ApiKey.ADD_OFFSETS_TO_TXN: serve(m.AddOffsetsToTxnRequest, handle_transaction_request),
    ApiKey.END_TXN: serve(m.EndTxnRequest, handle_transaction_request),
    ApiKey.WRITE_TXN_MARKERS: serve(m.WriteTxnMarkersRequest, handle_write_txn_markers, changes=True),
    ApiKey.TXN_OFFSET_COMMIT: serve(m.TxnOffsetCommitRequest, handle_transaction_request),
    ApiKey.DESCRIBE_ACLS: serve(m.DescribeAclsRequest, handle_describe_acls),
    ApiKey.CREATE_ACLS: serve(m.CreateAclsRequest, handle_acl_change),
    ApiKey.DELETE_ACLS: serve(m.DeleteAclsRequest, handle_acl_change),
    ApiKey.DESCRIBE_CONFIGS: serve(m.DescribeConfigsRequest, handle_describe_configs),
    ApiKey.ALTER_CONFIGS: serve(m.AlterConfigsRequest, handle_forwarded),
    ApiKey.ALTER_REPLICA_LOG_DIRS: serve(m.AlterReplicaLogDirsRequest, handle_alter_replica_log_dirs, changes=True),
    ApiKey.DESCRIBE_LOG_DIRS: serve(m.DescribeLogDirsRequest, handle_describe_log_dirs),
    ApiKey.SASL_AUTHENTICATE: serve(m.SaslAuthenticateRequest, handle_login_out_of_place),
    ApiKey.CREATE_PARTITIONS: serve(m.CreatePartitionsRequest, handle_create_partitions),
    ApiKey.CREATE_DELEGATION_TOKEN: serve(m.CreateDelegationTokenRequest, handle_token_request),
    ApiKey.RENEW_DELEGATION_TOKEN: serve(m.RenewDelegationTokenRequest, handle_token_request),
    ApiKey.EXPIRE_DELEGATION_TOKEN: serve(m.ExpireDelegationTokenRequest, handle_token_request),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: serve(m.DescribeDelegationTokenRequest, handle_describe_delegation_token),
    ApiKey.DELETE_GROUPS: serve(m.DeleteGroupsRequest, handle_group_request),
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
    ApiKey.OFFSET_DELETE: serve(m.OffsetDeleteRequest, handle_group_request),
    ApiKey.DESCRIBE_QUORUM: serve(m.DescribeQuorumRequest, handle_forwarded),
    ApiKey.UPDATE_FEATURES: serve(m.UpdateFeaturesRequest, handle_forwarded),
    ApiKey.DESCRIBE_CLUSTER: serve(m.DescribeClusterRequest, handle_describe_cluster),
    ApiKey.DESCRIBE_PRODUCERS: serve(m.DescribeProducersRequest, handle_describe_producers),
    ApiKey.UNREGISTER_BROKER: serve(m.UnregisterBrokerRequest, handle_forwarded),
    ApiKey.DESCRIBE_TRANSACTIONS: serve(m.DescribeTransactionsRequest, handle_transaction_request),
    ApiKey.LIST_TRANSACTIONS: serve(m.ListTransactionsRequest, handle_list_transactions),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: serve(m.ConsumerGroupHeartbeatRequest, handle_group_request),
    ApiKey.CONSUMER_GROUP_DESCRIBE: serve(m.ConsumerGroupDescribeRequest, handle_group_request),
    ApiKey.SHARE_GROUP_HEARTBEAT: serve(m.ShareGroupHeartbeatRequest, handle_group_request),
    ApiKey.SHARE_GROUP_DESCRIBE: serve(m.ShareGroupDescribeRequest, handle_group_request),
    ApiKey.SHARE_FETCH: serve(m.ShareFetchRequest, handle_share_fetch),
    ApiKey.SHARE_ACKNOWLEDGE: serve(m.ShareAcknowledgeRequest, handle_share_acknowledge),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: serve(m.GetTelemetrySubscriptionsRequest, handle_get_telemetry_subscriptions),
    ApiKey.PUSH_TELEMETRY: serve(m.PushTelemetryRequest, handle_push_telemetry),
    ApiKey.LIST_CONFIG_RESOURCES: serve(m.ListConfigResourcesRequest, handle_list_config_resources),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: serve(m.DescribeTopicPartitionsRequest, handle_describe_topic_partitions),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: serve(m.DescribeShareGroupOffsetsRequest, handle_group_request),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: serve(m.AlterShareGroupOffsetsRequest, handle_group_request),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: serve(m.DeleteShareGroupOffsetsRequest, handle_group_request),
}

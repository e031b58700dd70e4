"""The APIs a broker serves, each by the function that handles it; ApiVersions is derived from this table."""

from collections.abc import Mapping

from millstream_broker.api.alter_replica_log_dirs import handle_alter_replica_log_dirs
from millstream_broker.api.delete_records import handle_delete_records
from millstream_broker.api.describe_client_quotas import handle_describe_client_quotas
from millstream_broker.api.describe_cluster import handle_describe_cluster
from millstream_broker.api.describe_configs import handle_describe_configs
from millstream_broker.api.describe_log_dirs import handle_describe_log_dirs
from millstream_broker.api.describe_producers import handle_describe_producers
from millstream_broker.api.describe_topic_partitions import handle_describe_topic_partitions
from millstream_broker.api.fetch import handle_fetch
from millstream_broker.api.find_coordinator import handle_find_coordinator
from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.api.group_requests import handle_group_request, handle_list_groups, handle_list_transactions
from millstream_broker.api.incremental_alter_configs import handle_incremental_alter_configs
from millstream_broker.api.init_producer_id import handle_init_producer_id
from millstream_broker.api.list_config_resources import handle_list_config_resources
from millstream_broker.api.list_offsets import handle_list_offsets
from millstream_broker.api.list_partition_reassignments import handle_list_partition_reassignments
from millstream_broker.api.metadata import handle_metadata
from millstream_broker.api.offset_for_leader_epoch import handle_offset_for_leader_epoch
from millstream_broker.api.produce import answer_single_produce, handle_produce
from millstream_broker.api.security_requests import handle_security_request
from millstream_broker.api.share_acknowledge import handle_share_acknowledge
from millstream_broker.api.share_fetch import handle_share_fetch
from millstream_broker.api.topic_requests import handle_topic_request
from millstream_broker.api.transaction_requests import handle_transaction_request
from millstream_broker.api.write_txn_markers import handle_write_txn_markers
from millstream_runtime.serving.context import Handler, Shortcut
from millstream_wire.api import ApiKey

HANDLERS: Mapping[ApiKey, Handler] = {
    ApiKey.PRODUCE: handle_produce,
    ApiKey.FETCH: handle_fetch,
    ApiKey.LIST_OFFSETS: handle_list_offsets,
    ApiKey.METADATA: handle_metadata,
    ApiKey.OFFSET_COMMIT: handle_group_request,
    ApiKey.OFFSET_FETCH: handle_group_request,
    ApiKey.FIND_COORDINATOR: handle_find_coordinator,
    ApiKey.JOIN_GROUP: handle_group_request,
    ApiKey.HEARTBEAT: handle_group_request,
    ApiKey.LEAVE_GROUP: handle_group_request,
    ApiKey.SYNC_GROUP: handle_group_request,
    ApiKey.DESCRIBE_GROUPS: handle_group_request,
    ApiKey.LIST_GROUPS: handle_list_groups,
    ApiKey.SASL_HANDSHAKE: handle_security_request,
    ApiKey.CREATE_TOPICS: handle_topic_request,
    ApiKey.DELETE_TOPICS: handle_topic_request,
    ApiKey.DELETE_RECORDS: handle_delete_records,
    ApiKey.INIT_PRODUCER_ID: handle_init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: handle_offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: handle_transaction_request,
    ApiKey.ADD_OFFSETS_TO_TXN: handle_transaction_request,
    ApiKey.END_TXN: handle_transaction_request,
    ApiKey.WRITE_TXN_MARKERS: handle_write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: handle_transaction_request,
    ApiKey.DESCRIBE_ACLS: handle_security_request,
    ApiKey.CREATE_ACLS: handle_security_request,
    ApiKey.DELETE_ACLS: handle_security_request,
    ApiKey.DESCRIBE_CONFIGS: handle_describe_configs,
    ApiKey.ALTER_CONFIGS: handle_forwarded,
    ApiKey.ALTER_REPLICA_LOG_DIRS: handle_alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: handle_describe_log_dirs,
    ApiKey.SASL_AUTHENTICATE: handle_security_request,
    ApiKey.CREATE_PARTITIONS: handle_topic_request,
    ApiKey.CREATE_DELEGATION_TOKEN: handle_security_request,
    ApiKey.RENEW_DELEGATION_TOKEN: handle_security_request,
    ApiKey.EXPIRE_DELEGATION_TOKEN: handle_security_request,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: handle_security_request,
    ApiKey.DELETE_GROUPS: handle_group_request,
    ApiKey.ELECT_LEADERS: handle_forwarded,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: handle_incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: handle_forwarded,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: handle_list_partition_reassignments,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: handle_describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: handle_forwarded,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: handle_security_request,
    ApiKey.OFFSET_DELETE: handle_group_request,
    ApiKey.DESCRIBE_QUORUM: handle_forwarded,
    ApiKey.UPDATE_FEATURES: handle_forwarded,
    ApiKey.DESCRIBE_CLUSTER: handle_describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: handle_describe_producers,
    ApiKey.UNREGISTER_BROKER: handle_forwarded,
    ApiKey.DESCRIBE_TRANSACTIONS: handle_transaction_request,
    ApiKey.LIST_TRANSACTIONS: handle_list_transactions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: handle_group_request,
    ApiKey.CONSUMER_GROUP_DESCRIBE: handle_group_request,
    ApiKey.SHARE_GROUP_HEARTBEAT: handle_group_request,
    ApiKey.SHARE_GROUP_DESCRIBE: handle_group_request,
    ApiKey.SHARE_FETCH: handle_share_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: handle_share_acknowledge,
    ApiKey.LIST_CONFIG_RESOURCES: handle_list_config_resources,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: handle_describe_topic_partitions,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: handle_group_request,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: handle_group_request,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: handle_group_request,
}

SHORTCUTS: Mapping[ApiKey, Shortcut] = {ApiKey.PRODUCE: answer_single_produce}

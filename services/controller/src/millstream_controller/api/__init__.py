"""The APIs a controller serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_controller.api.allocate_producer_ids import handle_allocate_producer_ids
from millstream_controller.api.alter_client_quotas import handle_alter_client_quotas
from millstream_controller.api.alter_configs import handle_alter_configs
from millstream_controller.api.alter_partition import handle_alter_partition
from millstream_controller.api.alter_partition_reassignments import handle_alter_partition_reassignments
from millstream_controller.api.alter_user_scram_credentials import handle_alter_user_scram_credentials
from millstream_controller.api.assign_replicas_to_dirs import handle_assign_replicas_to_dirs
from millstream_controller.api.broker_heartbeat import handle_broker_heartbeat
from millstream_controller.api.broker_registration import handle_broker_registration
from millstream_controller.api.create_acls import handle_create_acls
from millstream_controller.api.create_partitions import handle_create_partitions
from millstream_controller.api.create_topics import handle_create_topics
from millstream_controller.api.delegation_tokens import (
    handle_create_delegation_token,
    handle_expire_delegation_token,
    handle_renew_delegation_token,
)
from millstream_controller.api.delete_acls import handle_delete_acls
from millstream_controller.api.delete_topics import handle_delete_topics
from millstream_controller.api.describe_quorum import handle_describe_quorum
from millstream_controller.api.elect_leaders import handle_elect_leaders
from millstream_controller.api.envelope import envelope_handler
from millstream_controller.api.fetch import handle_fetch
from millstream_controller.api.fetch_snapshot import handle_fetch_snapshot
from millstream_controller.api.incremental_alter_configs import handle_incremental_alter_configs
from millstream_controller.api.init_producer_id import handle_init_producer_id
from millstream_controller.api.list_offsets import handle_list_offsets
from millstream_controller.api.login_out_of_place import handle_login_out_of_place
from millstream_controller.api.metadata import handle_metadata
from millstream_controller.api.produce import handle_produce
from millstream_controller.api.unregister_broker import handle_unregister_broker
from millstream_controller.api.update_features import handle_update_features
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.handlers import Handlers, serve
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

FORWARDED: Handlers[Controller] = {
    ApiKey.CREATE_TOPICS: serve(m.CreateTopicsRequest, handle_create_topics, changes=True),
    ApiKey.DELETE_TOPICS: serve(m.DeleteTopicsRequest, handle_delete_topics, changes=True),
    ApiKey.CREATE_ACLS: serve(m.CreateAclsRequest, handle_create_acls, changes=True),
    ApiKey.DELETE_ACLS: serve(m.DeleteAclsRequest, handle_delete_acls, changes=True),
    ApiKey.ALTER_CONFIGS: serve(m.AlterConfigsRequest, handle_alter_configs, changes=True),
    ApiKey.CREATE_PARTITIONS: serve(m.CreatePartitionsRequest, handle_create_partitions, changes=True),
    ApiKey.ELECT_LEADERS: serve(m.ElectLeadersRequest, handle_elect_leaders, changes=True),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: serve(
        m.IncrementalAlterConfigsRequest, handle_incremental_alter_configs, changes=True
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: serve(
        m.AlterPartitionReassignmentsRequest, handle_alter_partition_reassignments, changes=True
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: serve(m.AlterClientQuotasRequest, handle_alter_client_quotas, changes=True),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: serve(
        m.AlterUserScramCredentialsRequest, handle_alter_user_scram_credentials, changes=True
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: serve(m.CreateDelegationTokenRequest, handle_create_delegation_token, changes=True),
    ApiKey.RENEW_DELEGATION_TOKEN: serve(m.RenewDelegationTokenRequest, handle_renew_delegation_token, changes=True),
    ApiKey.EXPIRE_DELEGATION_TOKEN: serve(m.ExpireDelegationTokenRequest, handle_expire_delegation_token, changes=True),
    ApiKey.DESCRIBE_QUORUM: serve(m.DescribeQuorumRequest, handle_describe_quorum),
    ApiKey.UPDATE_FEATURES: serve(m.UpdateFeaturesRequest, handle_update_features, changes=True),
    ApiKey.UNREGISTER_BROKER: serve(m.UnregisterBrokerRequest, handle_unregister_broker, changes=True),
}
"""What clients ask the other nodes, which pass it on."""

HANDLERS: Handlers[Controller] = {
    **FORWARDED,
    ApiKey.ENVELOPE: serve(m.EnvelopeRequest, envelope_handler(FORWARDED)),
    ApiKey.SASL_HANDSHAKE: serve(m.SaslHandshakeRequest, handle_login_out_of_place),
    ApiKey.SASL_AUTHENTICATE: serve(m.SaslAuthenticateRequest, handle_login_out_of_place),
    ApiKey.PRODUCE: serve(m.ProduceRequest, handle_produce),
    ApiKey.FETCH: serve(m.FetchRequest, handle_fetch),
    ApiKey.LIST_OFFSETS: serve(m.ListOffsetsRequest, handle_list_offsets),
    ApiKey.METADATA: serve(m.MetadataRequest, handle_metadata),
    ApiKey.INIT_PRODUCER_ID: serve(m.InitProducerIdRequest, handle_init_producer_id),
    ApiKey.FETCH_SNAPSHOT: serve(m.FetchSnapshotRequest, handle_fetch_snapshot),
    ApiKey.BROKER_REGISTRATION: serve(m.BrokerRegistrationRequest, handle_broker_registration),
    ApiKey.BROKER_HEARTBEAT: serve(m.BrokerHeartbeatRequest, handle_broker_heartbeat),
    ApiKey.ALTER_PARTITION: serve(m.AlterPartitionRequest, handle_alter_partition),
    ApiKey.ALLOCATE_PRODUCER_IDS: serve(m.AllocateProducerIdsRequest, handle_allocate_producer_ids),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: serve(m.AssignReplicasToDirsRequest, handle_assign_replicas_to_dirs),
}

UNADVERTISED = (
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
)
"""What only nodes of the cluster send to each other."""

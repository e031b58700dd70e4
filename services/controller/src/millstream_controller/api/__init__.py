"""The APIs a controller serves, each by the function that handles it; ApiVersions is derived from this table."""

from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.handlers import Handlers, late, serve
from millstream_runtime.serving.late_imports import late_imports
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

with late_imports("millstream_controller.api"):
    from millstream_controller.api import (
        allocate_producer_ids,
        alter_client_quotas,
        alter_configs,
        alter_partition,
        alter_partition_reassignments,
        alter_user_scram_credentials,
        assign_replicas_to_dirs,
        broker_heartbeat,
        broker_registration,
        create_acls,
        create_partitions,
        create_topics,
        delegation_tokens,
        delete_acls,
        delete_topics,
        describe_quorum,
        elect_leaders,
        envelope,
        fetch,
        fetch_snapshot,
        incremental_alter_configs,
        init_producer_id,
        list_offsets,
        login_out_of_place,
        metadata,
        produce,
        unregister_broker,
        update_features,
    )

FORWARDED: Handlers[Controller] = {
    ApiKey.CREATE_TOPICS: late(lambda: serve(m.CreateTopicsRequest, create_topics.handle_create_topics, changes=True)),
    ApiKey.DELETE_TOPICS: late(lambda: serve(m.DeleteTopicsRequest, delete_topics.handle_delete_topics, changes=True)),
    ApiKey.CREATE_ACLS: late(lambda: serve(m.CreateAclsRequest, create_acls.handle_create_acls, changes=True)),
    ApiKey.DELETE_ACLS: late(lambda: serve(m.DeleteAclsRequest, delete_acls.handle_delete_acls, changes=True)),
    ApiKey.ALTER_CONFIGS: late(lambda: serve(m.AlterConfigsRequest, alter_configs.handle_alter_configs, changes=True)),
    ApiKey.CREATE_PARTITIONS: late(
        lambda: serve(m.CreatePartitionsRequest, create_partitions.handle_create_partitions, changes=True)
    ),
    ApiKey.ELECT_LEADERS: late(lambda: serve(m.ElectLeadersRequest, elect_leaders.handle_elect_leaders, changes=True)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: late(
        lambda: serve(
            m.IncrementalAlterConfigsRequest, incremental_alter_configs.handle_incremental_alter_configs, changes=True
        )
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: late(
        lambda: serve(
            m.AlterPartitionReassignmentsRequest,
            alter_partition_reassignments.handle_alter_partition_reassignments,
            changes=True,
        )
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: late(
        lambda: serve(m.AlterClientQuotasRequest, alter_client_quotas.handle_alter_client_quotas, changes=True)
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: late(
        lambda: serve(
            m.AlterUserScramCredentialsRequest,
            alter_user_scram_credentials.handle_alter_user_scram_credentials,
            changes=True,
        )
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: late(
        lambda: serve(m.CreateDelegationTokenRequest, delegation_tokens.handle_create_delegation_token, changes=True)
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: late(
        lambda: serve(m.RenewDelegationTokenRequest, delegation_tokens.handle_renew_delegation_token, changes=True)
    ),
    ApiKey.EXPIRE_DELEGATION_TOKEN: late(
        lambda: serve(m.ExpireDelegationTokenRequest, delegation_tokens.handle_expire_delegation_token, changes=True)
    ),
    ApiKey.DESCRIBE_QUORUM: late(lambda: serve(m.DescribeQuorumRequest, describe_quorum.handle_describe_quorum)),
    ApiKey.UPDATE_FEATURES: late(
        lambda: serve(m.UpdateFeaturesRequest, update_features.handle_update_features, changes=True)
    ),
    ApiKey.UNREGISTER_BROKER: late(
        lambda: serve(m.UnregisterBrokerRequest, unregister_broker.handle_unregister_broker, changes=True)
    ),
}
"""What clients ask the other nodes, which pass it on."""

HANDLERS: Handlers[Controller] = {
    **FORWARDED,
    ApiKey.ENVELOPE: late(lambda: serve(m.EnvelopeRequest, envelope.envelope_handler(FORWARDED))),
    ApiKey.SASL_HANDSHAKE: late(lambda: serve(m.SaslHandshakeRequest, login_out_of_place.handle_login_out_of_place)),
    ApiKey.SASL_AUTHENTICATE: late(
        lambda: serve(m.SaslAuthenticateRequest, login_out_of_place.handle_login_out_of_place)
    ),
    ApiKey.PRODUCE: late(lambda: serve(m.ProduceRequest, produce.handle_produce)),
    ApiKey.FETCH: late(lambda: serve(m.FetchRequest, fetch.handle_fetch)),
    ApiKey.LIST_OFFSETS: late(lambda: serve(m.ListOffsetsRequest, list_offsets.handle_list_offsets)),
    ApiKey.METADATA: late(lambda: serve(m.MetadataRequest, metadata.handle_metadata)),
    ApiKey.INIT_PRODUCER_ID: late(lambda: serve(m.InitProducerIdRequest, init_producer_id.handle_init_producer_id)),
    ApiKey.FETCH_SNAPSHOT: late(lambda: serve(m.FetchSnapshotRequest, fetch_snapshot.handle_fetch_snapshot)),
    ApiKey.BROKER_REGISTRATION: late(
        lambda: serve(m.BrokerRegistrationRequest, broker_registration.handle_broker_registration)
    ),
    ApiKey.BROKER_HEARTBEAT: late(lambda: serve(m.BrokerHeartbeatRequest, broker_heartbeat.handle_broker_heartbeat)),
    ApiKey.ALTER_PARTITION: late(lambda: serve(m.AlterPartitionRequest, alter_partition.handle_alter_partition)),
    ApiKey.ALLOCATE_PRODUCER_IDS: late(
        lambda: serve(m.AllocateProducerIdsRequest, allocate_producer_ids.handle_allocate_producer_ids)
    ),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: late(
        lambda: serve(m.AssignReplicasToDirsRequest, assign_replicas_to_dirs.handle_assign_replicas_to_dirs)
    ),
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

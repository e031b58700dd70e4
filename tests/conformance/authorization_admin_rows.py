"""As `authorization_client_rows`, for the APIs of administrators, of newer groups and of nodes."""

from authorization_scene import (
    ABSENT,
    ACL,
    ACTION,
    ALTER,
    ALTER_CONFIGS,
    ALTER_NEEDS,
    CONFIG_NEEDS,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUPS,
    IDS,
    INDEX,
    NO_ACL,
    OF_CLUSTER,
    OF_GROUP,
    OF_ID,
    OF_TOPIC,
    ONE,
    READ,
    RESOURCES,
    STATE_OF,
    TOPICS,
    WITH_CLUSTER_OPERATIONS,
    G,
    T,
    Table,
    X,
    cluster,
    each,
    fixed,
    one,
)

from millstream_wire import messages as m
from millstream_wire.api import ApiKey

K = ApiKey
ADMINISTRATORS = Table()

ADMINISTRATORS.add(
    K.DESCRIBE_ACLS,
    ask=fixed(m.DescribeAclsRequest, **NO_ACL),
    needs=cluster(DESCRIBE),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.CREATE_ACLS, ask=fixed(m.CreateAclsRequest, creations=[ACL, ACL]), needs=cluster(ALTER), code=OF_CLUSTER
)
ADMINISTRATORS.add(
    K.DELETE_ACLS, ask=fixed(m.DeleteAclsRequest, filters=[NO_ACL, NO_ACL]), needs=cluster(ALTER), code=OF_CLUSTER
)
ADMINISTRATORS.add(
    K.DESCRIBE_CONFIGS,
    ask=fixed(m.DescribeConfigsRequest, resources=[{**each, "configuration_keys": ["x"]} for each in RESOURCES]),
    needs=(CONFIG_NEEDS,),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.ALTER_CONFIGS,
    ask=fixed(m.AlterConfigsRequest, resources=RESOURCES, validate_only=True),
    needs=(ALTER_NEEDS,),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.INCREMENTAL_ALTER_CONFIGS,
    ask=fixed(m.IncrementalAlterConfigsRequest, resources=RESOURCES, validate_only=True),
    needs=(ALTER_NEEDS,),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.INCREMENTAL_ALTER_CONFIGS,
    "loggers",
    ask=fixed(
        m.IncrementalAlterConfigsRequest, resources=[{"resource_type": 8, "resource_name": "1"}], validate_only=True
    ),
    needs=cluster(ALTER_CONFIGS),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.ALTER_REPLICA_LOG_DIRS,
    ask=fixed(m.AlterReplicaLogDirsRequest, dirs=[{"path": "/none", "topics": each(TOPICS, partitions=ONE)}]),
    needs=cluster(ALTER),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.DESCRIBE_LOG_DIRS,
    ask=fixed(m.DescribeLogDirsRequest, topics=each(("t-a",), "topic", partitions=ONE)),
    needs=cluster(DESCRIBE),
    versions=(3, 4),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.CREATE_PARTITIONS,
    ask=fixed(
        m.CreatePartitionsRequest,
        topics=[{"name": name, "count": 1, "assignments": None} for name in (*TOPICS, *ABSENT, "u-twice", "u-twice")],
        timeout_ms=1_000,
        validate_only=True,
    ),
    needs=(one((T, ALTER)),),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.DELETE_GROUPS,
    ask=fixed(m.DeleteGroupsRequest, groups_names=["g-none", "u-none", "u-a"]),
    needs=(one((G, DELETE)),),
    versions=(0, 2),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.ELECT_LEADERS,
    ask=fixed(m.ElectLeadersRequest, topic_partitions=each(TOPICS, "topic", partitions=ONE), timeout_ms=1_000),
    needs=cluster(ALTER),
    versions=(1, 2),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.ALTER_PARTITION_REASSIGNMENTS,
    ask=fixed(
        m.AlterPartitionReassignmentsRequest,
        topics=each(TOPICS, partitions=[{"partition_index": 0, "replicas": None}]),
        timeout_ms=1_000,
    ),
    needs=cluster(ALTER),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.LIST_PARTITION_REASSIGNMENTS,
    ask=fixed(m.ListPartitionReassignmentsRequest, topics=each(TOPICS, partition_indexes=ONE), timeout_ms=1_000),
    needs=cluster(DESCRIBE),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.DESCRIBE_CLIENT_QUOTAS,
    ask=fixed(m.DescribeClientQuotasRequest, components=[{"entity_type": "user", "match_type": 2, "match": None}]),
    needs=cluster(DESCRIBE_CONFIGS),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.ALTER_CLIENT_QUOTAS,
    ask=fixed(
        m.AlterClientQuotasRequest,
        entries=[
            {
                "entity": [{"entity_type": "user", "entity_name": "nobody"}],
                "ops": [{"key": "producer_byte_rate", "value": 1e6}],
            }
        ],
        validate_only=True,
    ),
    needs=cluster(ALTER_CONFIGS),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ask=fixed(m.DescribeUserScramCredentialsRequest, users=each(("nobody",))),
    needs=cluster(DESCRIBE),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.ALTER_USER_SCRAM_CREDENTIALS,
    ask=fixed(m.AlterUserScramCredentialsRequest, deletions=[{"name": "nobody", "mechanism": 1}]),
    needs=cluster(ALTER),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.OFFSET_DELETE,
    ask=fixed(m.OffsetDeleteRequest, group_id="g-a", topics=each(ABSENT, partitions=INDEX)),
    needs=(one((G, DELETE), (T, READ)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.DESCRIBE_QUORUM,
    ask=fixed(
        m.DescribeQuorumRequest, topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    ),
    needs=cluster(DESCRIBE),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.UPDATE_FEATURES,
    ask=fixed(m.UpdateFeaturesRequest, timeout_ms=1_000, feature_updates=[], validate_only=True),
    needs=cluster(ALTER),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.DESCRIBE_CLUSTER,
    ask=fixed(m.DescribeClusterRequest, **WITH_CLUSTER_OPERATIONS),
    needs=cluster(DESCRIBE),
    shows=True,
)
ADMINISTRATORS.add(
    K.DESCRIBE_PRODUCERS,
    ask=fixed(m.DescribeProducersRequest, topics=each((*TOPICS, *ABSENT), partition_indexes=ONE)),
    needs=(one((T, READ)),),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.UNREGISTER_BROKER, ask=fixed(m.UnregisterBrokerRequest, broker_id=77), needs=cluster(ALTER), code=OF_CLUSTER
)
ADMINISTRATORS.add(
    K.DESCRIBE_TRANSACTIONS,
    ask=fixed(m.DescribeTransactionsRequest, transactional_ids=list(IDS)),
    needs=(one((X, DESCRIBE)),),
    code=OF_ID,
)
ADMINISTRATORS.add(K.LIST_TRANSACTIONS, ask=fixed(m.ListTransactionsRequest), needs=(one((X, DESCRIBE)),), shows=True)
ADMINISTRATORS.add(
    K.CONSUMER_GROUP_HEARTBEAT,
    ask=fixed(
        m.ConsumerGroupHeartbeatRequest,
        group_id="g-a",
        member_id="none",
        member_epoch=5,
        subscribed_topic_names=["t-a", "t-none"],
    ),
    needs=(one((G, READ), (T, DESCRIBE)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.CONSUMER_GROUP_DESCRIBE,
    ask=fixed(m.ConsumerGroupDescribeRequest, group_ids=list(GROUPS), include_authorized_operations=True),
    needs=(one((G, DESCRIBE)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.SHARE_GROUP_HEARTBEAT,
    ask=fixed(
        m.ShareGroupHeartbeatRequest,
        group_id="g-a",
        member_id="none",
        member_epoch=5,
        subscribed_topic_names=["t-a", "t-none"],
    ),
    needs=(one((G, READ), (T, DESCRIBE)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.SHARE_GROUP_DESCRIBE,
    ask=fixed(m.ShareGroupDescribeRequest, group_ids=list(GROUPS), include_authorized_operations=True),
    needs=(one((G, DESCRIBE)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.SHARE_FETCH,
    ask=fixed(m.ShareFetchRequest, group_id="g-a", member_id="AAAAAAAAAAAAAAAAAAAATQ", share_session_epoch=5),
    needs=(one((G, READ)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.SHARE_ACKNOWLEDGE,
    ask=fixed(m.ShareAcknowledgeRequest, group_id="g-a", member_id="AAAAAAAAAAAAAAAAAAAATQ", share_session_epoch=5),
    needs=(one((G, READ)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.LIST_CONFIG_RESOURCES,
    ask=fixed(m.ListConfigResourcesRequest, resource_types=[16]),
    needs=cluster(DESCRIBE_CONFIGS),
    code=OF_CLUSTER,
)
ADMINISTRATORS.add(
    K.DESCRIBE_TOPIC_PARTITIONS,
    ask=fixed(m.DescribeTopicPartitionsRequest, topics=each((*TOPICS, *ABSENT))),
    needs=(one((T, DESCRIBE)),),
    code=OF_TOPIC,
)
ADMINISTRATORS.add(
    K.DESCRIBE_TOPIC_PARTITIONS,
    "all",
    ask=fixed(m.DescribeTopicPartitionsRequest),
    needs=(one((T, DESCRIBE)),),
    shows=True,
)
ADMINISTRATORS.add(
    K.DESCRIBE_SHARE_GROUP_OFFSETS,
    ask=fixed(
        m.DescribeShareGroupOffsetsRequest,
        groups=each(GROUPS, "group_id", topics=each((*TOPICS, *ABSENT), "topic_name", partitions=ONE)),
    ),
    needs=(one((G, DESCRIBE), (T, DESCRIBE)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.ALTER_SHARE_GROUP_OFFSETS,
    ask=fixed(
        m.AlterShareGroupOffsetsRequest,
        group_id="g-share",
        topics=each(ABSENT, "topic_name", partitions=[{"partition_index": 0, "start_offset": 0}]),
    ),
    needs=(one((G, READ), (T, READ)),),
    code=OF_GROUP,
)
ADMINISTRATORS.add(
    K.DELETE_SHARE_GROUP_OFFSETS,
    ask=fixed(m.DeleteShareGroupOffsetsRequest, group_id="g-share", topics=each(ABSENT, "topic_name")),
    needs=(one((G, DELETE), (T, READ)),),
    code=OF_GROUP,
)
for state in (
    m.InitializeShareGroupStateRequest,
    m.ReadShareGroupStateRequest,
    m.WriteShareGroupStateRequest,
    m.DeleteShareGroupStateRequest,
    m.ReadShareGroupStateSummaryRequest,
):
    ADMINISTRATORS.add(ApiKey(state.api_key), ask=fixed(state, **STATE_OF), needs=cluster(ACTION), code=OF_CLUSTER)

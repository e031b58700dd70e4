"""For each API of producers and consumers a request that touches what its sender was granted and what it was not, and which grants it takes.

Requests change nothing that another row looks at.
"""

from uuid import UUID

from authorization_scene import (
    ABSENT,
    ACTION,
    ALTER,
    CREATE,
    DELETE,
    DESCRIBE,
    GONE,
    GROUPS,
    IDS,
    OF_CLUSTER,
    OF_GROUP,
    OF_ID,
    OF_TOPIC,
    OFFSET,
    ONE,
    PRODUCER,
    READ,
    TOPICS,
    WITH_CLUSTER_OPERATIONS,
    WRITE,
    C,
    G,
    T,
    Table,
    X,
    by_id,
    cluster,
    each,
    fixed,
    made,
    one,
    produced,
)

from millstream_cluster.acls import AclOperation
from millstream_wire import messages as m
from millstream_wire.api import ApiKey

K = ApiKey
CLIENTS = Table()

CLIENTS.add(
    K.PRODUCE,
    ask=fixed(
        m.ProduceRequest, acks=-1, timeout_ms=1_000, topic_data=each((*TOPICS, *ABSENT), partition_data=produced())
    ),
    needs=(one((T, WRITE)),),
    versions=(3, 12),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.PRODUCE,
    "by-id",
    ask=lambda scene: made(
        m.ProduceRequest, acks=-1, timeout_ms=1_000, topic_data=by_id(scene, partition_data=produced())
    ),
    needs=(one((T, WRITE)),),
    versions=(13,),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.PRODUCE,
    "transactional",
    ask=fixed(
        m.ProduceRequest,
        transactional_id="x-a",
        acks=-1,
        timeout_ms=1_000,
        topic_data=each(TOPICS, partition_data=produced(transactional=True)),
    ),
    needs=(one((T, WRITE), (X, WRITE)),),
    versions=(9,),
    code=OF_ID,
)
WANTED = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}]
for replica_id, name, need, codes in ((-1, "", (T, READ), OF_TOPIC), (1, "as-replica", (C, ACTION), OF_TOPIC)):
    CLIENTS.add(
        K.FETCH,
        name,
        ask=fixed(
            m.FetchRequest,
            replica_id=replica_id,
            max_bytes=100,
            topics=each((*TOPICS, *ABSENT), "topic", partitions=WANTED),
        ),
        needs=(one(need),),
        versions=(4, 12),
        code=codes,
    )
CLIENTS.add(
    K.FETCH,
    "by-id",
    ask=lambda scene: made(m.FetchRequest, max_bytes=100, topics=by_id(scene, partitions=WANTED)),
    needs=(one((T, READ)),),
    versions=(13, 17),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.LIST_OFFSETS,
    ask=fixed(
        m.ListOffsetsRequest, topics=each((*TOPICS, *ABSENT), partitions=[{"partition_index": 0, "timestamp": -1}])
    ),
    needs=(one((T, DESCRIBE)),),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.METADATA,
    ask=fixed(m.MetadataRequest, topics=each((*TOPICS, *ABSENT)), allow_auto_topic_creation=False),
    needs=(one((T, DESCRIBE)),),
    versions=(4, 13),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.METADATA,
    "operations",
    ask=fixed(
        m.MetadataRequest,
        topics=each((*TOPICS, *ABSENT)),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        **WITH_CLUSTER_OPERATIONS,
    ),
    needs=(one((T, DESCRIBE), (C, DESCRIBE)),),
    versions=(8, 10),
    code=OF_TOPIC,
    shows=True,
)
CLIENTS.add(
    K.METADATA,
    "by-id",
    ask=lambda scene: made(
        m.MetadataRequest,
        topics=by_id(scene),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    ),
    needs=(one((T, DESCRIBE)),),
    versions=(12, 13),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.METADATA,
    "all",
    ask=fixed(m.MetadataRequest, topics=None, allow_auto_topic_creation=False),
    needs=(one((T, DESCRIBE)),),
    versions=(1, 13),
    shows=True,
)
CLIENTS.add(
    K.METADATA,
    "creating",
    ask=fixed(m.MetadataRequest, topics=each(("u-made", "__transaction_state")), allow_auto_topic_creation=True),
    needs=(),
    versions=(4, 13),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.OFFSET_COMMIT,
    ask=fixed(
        m.OffsetCommitRequest,
        group_id="g-a",
        generation_id_or_member_epoch=-1,
        topics=each((*TOPICS, *ABSENT), partitions=OFFSET),
    ),
    needs=(one((G, READ), (T, READ)),),
    versions=(2, 9),
    code=OF_GROUP,
)
CLIENTS.add(
    K.OFFSET_COMMIT,
    "by-id",
    ask=lambda scene: made(
        m.OffsetCommitRequest,
        group_id="g-a",
        generation_id_or_member_epoch=-1,
        topics=by_id(scene, partitions=OFFSET),
    ),
    needs=(one((G, READ), (T, READ)),),
    versions=(10,),
    code=OF_GROUP,
)
CLIENTS.add(
    K.OFFSET_FETCH,
    "one",
    ask=fixed(m.OffsetFetchRequest, group_id="g-a", topics=each((*TOPICS, *ABSENT), partition_indexes=ONE)),
    needs=(one((G, DESCRIBE), (T, DESCRIBE)),),
    versions=(1, 7),
    code=OF_GROUP,
)
CLIENTS.add(
    K.OFFSET_FETCH,
    ask=fixed(
        m.OffsetFetchRequest, groups=each(GROUPS, "group_id", topics=each((*TOPICS, *ABSENT), partition_indexes=ONE))
    ),
    needs=(one((G, DESCRIBE), (T, DESCRIBE)),),
    versions=(8, 9),
    code=OF_GROUP,
)
CLIENTS.add(
    K.OFFSET_FETCH,
    "by-id",
    ask=lambda scene: made(
        m.OffsetFetchRequest, groups=each(GROUPS, "group_id", topics=by_id(scene, partition_indexes=ONE))
    ),
    needs=(one((G, DESCRIBE), (T, DESCRIBE)),),
    versions=(10,),
    code=OF_GROUP,
)
CLIENTS.add(
    K.OFFSET_FETCH,
    "all",
    ask=fixed(m.OffsetFetchRequest, groups=each(GROUPS, "group_id", topics=None)),
    needs=(one((G, DESCRIBE), (T, DESCRIBE)),),
    versions=(8, 10),
    code=OF_GROUP,
    shows=True,
)
for key_type, keys, need, code in ((0, GROUPS, (G, DESCRIBE), OF_GROUP), (1, IDS, (X, DESCRIBE), OF_ID)):
    CLIENTS.add(
        K.FIND_COORDINATOR,
        f"{key_type}",
        ask=fixed(m.FindCoordinatorRequest, key_type=key_type, coordinator_keys=list(keys)),
        needs=(one(need),),
        versions=(4, 6),
        code=code,
    )
    CLIENTS.add(
        K.FIND_COORDINATOR,
        f"{key_type}-one",
        ask=fixed(m.FindCoordinatorRequest, key_type=key_type, key=keys[0]),
        needs=(one(need),),
        versions=(1, 3),
        code=code,
    )
CLIENTS.add(
    K.FIND_COORDINATOR,
    "share",
    ask=fixed(m.FindCoordinatorRequest, key_type=2, coordinator_keys=["g-a:AAAAAAAAAAAAAAAAAAAATQ:0"]),
    needs=cluster(ACTION),
    versions=(6,),
    code=OF_CLUSTER,
)
PROTOCOLS = [{"name": "range", "metadata": b""}]
CLIENTS.add(
    K.JOIN_GROUP,
    ask=fixed(
        m.JoinGroupRequest,
        group_id="g-a",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=PROTOCOLS,
    ),
    needs=(one((G, READ)),),
    versions=(4, 9),
    code=OF_GROUP,
)
CLIENTS.add(
    K.HEARTBEAT,
    ask=fixed(m.HeartbeatRequest, group_id="g-a", generation_id=1, member_id="none"),
    needs=(one((G, READ)),),
    code=OF_GROUP,
)
CLIENTS.add(
    K.LEAVE_GROUP,
    ask=fixed(m.LeaveGroupRequest, group_id="g-a", member_id="none", members=[{"member_id": "none"}]),
    needs=(one((G, READ)),),
    code=OF_GROUP,
)
CLIENTS.add(
    K.SYNC_GROUP,
    ask=fixed(
        m.SyncGroupRequest,
        group_id="g-a",
        generation_id=1,
        member_id="none",
        protocol_type="consumer",
        protocol_name="range",
    ),
    needs=(one((G, READ)),),
    code=OF_GROUP,
)
CLIENTS.add(
    K.DESCRIBE_GROUPS,
    ask=fixed(m.DescribeGroupsRequest, groups=list(GROUPS), include_authorized_operations=True),
    needs=(one((G, DESCRIBE)),),
    versions=(0, 3, 5),
    code=OF_GROUP,
)
CLIENTS.add(K.LIST_GROUPS, ask=fixed(m.ListGroupsRequest), needs=(one((G, DESCRIBE)), one((C, DESCRIBE))), shows=True)
CLIENTS.add(
    K.CREATE_TOPICS,
    ask=fixed(
        m.CreateTopicsRequest,
        topics=[{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("t-new", "u-new", *TOPICS)]
        + [{"name": "u-twice", "num_partitions": 1, "replication_factor": 1}] * 2,
        timeout_ms=1_000,
        validate_only=True,
    ),
    needs=(one((T, CREATE)), one((C, CREATE))),
    versions=(2, 7),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.DELETE_TOPICS,
    ask=fixed(m.DeleteTopicsRequest, topic_names=["t-none", "u-none", GONE[0], "u-twice", "u-twice"], timeout_ms=1_000),
    needs=(one((T, DESCRIBE)),),
    versions=(1, 5),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.DELETE_TOPICS,
    "by-id",
    ask=lambda scene: made(
        m.DeleteTopicsRequest,
        topics=[{"topic_id": scene.topic_ids[GONE[1]]}, {"topic_id": UUID(int=77)}],
        timeout_ms=1_000,
    ),
    versions=(6,),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.DELETE_RECORDS,
    ask=fixed(
        m.DeleteRecordsRequest,
        topics=each((*TOPICS, *ABSENT), partitions=[{"partition_index": 0, "offset": 0}]),
        timeout_ms=1_000,
    ),
    needs=(one((T, DELETE)),),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.INIT_PRODUCER_ID,
    ask=fixed(m.InitProducerIdRequest, transactional_id=None, transaction_timeout_ms=1_000),
    needs=(one((C, AclOperation.IDEMPOTENT_WRITE)), one((T, WRITE))),
    code=OF_CLUSTER,
)
CLIENTS.add(
    K.INIT_PRODUCER_ID,
    "transactional",
    ask=fixed(m.InitProducerIdRequest, transactional_id="x-b", transaction_timeout_ms=1_000),
    needs=(one((X, WRITE)),),
    code=OF_ID,
)
CLIENTS.add(
    K.OFFSET_FOR_LEADER_EPOCH,
    ask=fixed(
        m.OffsetForLeaderEpochRequest,
        topics=each((*TOPICS, *ABSENT), "topic", partitions=[{"partition": 0, "leader_epoch": 0}]),
    ),
    needs=(one((T, DESCRIBE)), one((C, ACTION))),
    code=OF_TOPIC,
)
CLIENTS.add(
    K.ADD_PARTITIONS_TO_TXN,
    ask=fixed(
        m.AddPartitionsToTxnRequest,
        v3_and_below_transactional_id="x-a",
        v3_and_below_producer_id=9_001,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=each(TOPICS, partitions=ONE),
    ),
    needs=(one((X, WRITE), (T, WRITE)),),
    versions=(0, 3),
    code=OF_ID,
)
CLIENTS.add(
    K.ADD_PARTITIONS_TO_TXN,
    "batched",
    ask=fixed(
        m.AddPartitionsToTxnRequest,
        transactions=[
            {"transactional_id": "x-a", "verify_only": True, "topics": each(TOPICS, partitions=ONE), **PRODUCER}
        ],
    ),
    needs=cluster(ACTION),
    versions=(4, 5),
    code=OF_CLUSTER,
)
CLIENTS.add(
    K.ADD_OFFSETS_TO_TXN,
    ask=fixed(m.AddOffsetsToTxnRequest, transactional_id="x-a", group_id="g-a", **PRODUCER),
    needs=(one((X, WRITE), (G, READ)),),
    code=OF_ID,
)
CLIENTS.add(
    K.END_TXN,
    ask=fixed(m.EndTxnRequest, transactional_id="x-a", committed=False, **PRODUCER),
    needs=(one((X, WRITE)),),
    code=OF_ID,
)
CLIENTS.add(
    K.WRITE_TXN_MARKERS,
    ask=fixed(m.WriteTxnMarkersRequest, markers=[{"topics": each(ABSENT, partition_indexes=ONE), **PRODUCER}]),
    needs=(one((C, ACTION)), one((C, ALTER))),
    code=OF_CLUSTER,
)
for version in (0, 5, 6):
    CLIENTS.add(
        K.TXN_OFFSET_COMMIT,
        f"{version}",
        ask=lambda scene, version=version: made(
            m.TxnOffsetCommitRequest,
            transactional_id="x-a",
            group_id="g-a",
            topics=by_id(scene, partitions=OFFSET) if version > 5 else each((*TOPICS, *ABSENT), partitions=OFFSET),
            **PRODUCER,
        ),
        needs=(one((X, WRITE), (G, READ), (T, READ)),),
        versions=(version,),
        code=OF_ID,
    )

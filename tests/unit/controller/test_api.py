"""Every API of a controller over the wire, in its oldest and newest version, and what a standby answers."""

import asyncio
import random
from uuid import UUID

import pytest

from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.ids import NO_NODE, NodeId
from millstream_controller.api import HANDLERS
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig, InDirectory, InKubernetes
from millstream_runtime.nodes.client import Client
from millstream_runtime.nodes.controllers import says_not_controller
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_user_scram_credentials,
    broker_registration,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_topics,
    fetch,
    fetch_snapshot,
    incremental_alter_configs,
    list_offsets,
    metadata,
    produce,
)
from millstream_wire.messages import alter_partition_reassignments as reassignments

METADATA = "__cluster_metadata"
METADATA_ID = UUID(int=1)
BORN = 6
"""Where the log of a new cluster ends: its levels, its id and its controller."""


class Ask:
    """One client of one controller."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, request, version: int | None = None):
        return await self.client.request(request, timeout_ms=10_000, version=version)

    async def register(self, node_id: int = 1) -> int:
        cluster_id = (await self(m.MetadataRequest(topics=None))).cluster_id
        listener = broker_registration.Listener(name="P", host="b", port=9092)
        registered = await self(
            m.BrokerRegistrationRequest(
                broker_id=node_id,
                cluster_id=cluster_id,
                incarnation_id=UUID(int=node_id),
                listeners=[listener],
                features=[
                    broker_registration.Feature(
                        name=each.name, min_supported_version=each.least, max_supported_version=each.most
                    )
                    for each in SUPPORTED_RANGES
                ],
            )
        )
        assert registered.error_code == 0
        beat = m.BrokerHeartbeatRequest(
            broker_id=node_id, broker_epoch=registered.broker_epoch, current_metadata_offset=registered.broker_epoch
        )
        assert not (await self(beat)).is_fenced
        return registered.broker_epoch

    async def create(self, name: str, version: int | None = None, **fields):
        numbers = {"num_partitions": -1, "replication_factor": -1} if "assignments" in fields else {}
        topic = create_topics.CreatableTopic(
            name=name, **{"num_partitions": 1, "replication_factor": 1, **numbers, **fields}
        )
        return (await self(m.CreateTopicsRequest(topics=[topic]), version)).topics[0]


def with_controllers(directory, scenario, count: int = 1, node_id: NodeId = NO_NODE, **settings: str) -> None:
    async def body() -> None:
        seed = random.Random(1)
        network = SimulatedNetwork(seed, Conditions())
        for number in range(count):
            values = {
                "node.id": str(number),
                "listeners": f"CONTROLLER://c{number}:9093",
                "controller.store": f"file:{directory}",
                "offsets.topic.num.partitions": "3",
                **settings,
            }
            world = SimulatedWorld(network, f"c{number}", seed)
            app = ControllerApp(ControllerConfig.from_properties(Properties(values)), world)
            world.start(app.run())
            await app.ready.wait()
        client_world = SimulatedWorld(network, "client", seed)
        client = await Client.connect(client_world, f"c{count - 1}", 9093, client_id="test", node_id=node_id)
        await scenario(Ask(client))

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(body())


def test_topics_come_grow_change_and_go(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        await ask.register()
        for version in (2, 7):
            created = await ask.create(f"v{version}", version)
            assert created.error_code == ErrorCode.NONE
        assert created.topic_id.int != 0
        assert {config.name: config.value for config in created.configs}["retention.ms"] == "604800000"
        refused = await ask.create("v7")
        assert (refused.error_code, refused.configs) == (ErrorCode.TOPIC_ALREADY_EXISTS, [])
        for version in (0, 3):
            growth = create_partitions.CreatePartitionsTopic(name="v2", count=2 + version, assignments=None)
            grown = (await ask(m.CreatePartitionsRequest(topics=[growth], timeout_ms=5_000), version)).results[0]
            assert (grown.name, grown.error_code) == ("v2", ErrorCode.NONE)
        configs = [incremental_alter_configs.AlterableConfig(name="retention.ms", config_operation=0, value="5")]
        resource = incremental_alter_configs.AlterConfigsResource(resource_type=2, resource_name="v2", configs=configs)
        for version in (0, 1):
            altered = (await ask(m.IncrementalAlterConfigsRequest(resources=[resource]), version)).responses[0]
            assert (altered.error_code, altered.resource_type, altered.resource_name) == (0, 2, "v2")
        logger = incremental_alter_configs.AlterConfigsResource(resource_type=8, resource_name="1")
        altered = (await ask(m.IncrementalAlterConfigsRequest(resources=[logger]))).responses[0]
        assert (altered.error_code, altered.resource_type) == (ErrorCode.INVALID_REQUEST, 8)
        whole = alter_configs.AlterConfigsResource(resource_type=2, resource_name="v2", configs=[])
        assert (await ask(m.AlterConfigsRequest(resources=[whole]), 0)).responses[0].error_code == 0
        by_id = delete_topics.DeleteTopicState(topic_id=created.topic_id)
        deleted = (await ask(m.DeleteTopicsRequest(topics=[by_id], timeout_ms=5_000))).responses[0]
        assert (deleted.error_code, deleted.name) == (ErrorCode.NONE, "v7")
        deleted = (await ask(m.DeleteTopicsRequest(topic_names=["v2", "v7"], timeout_ms=5_000), 1)).responses
        assert [each.error_code for each in deleted] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    with_controllers(tmp_path, scenario)


def test_shards_are_claimed_by_their_owner_alone(tmp_path) -> None:
    async def claim(ask: Ask, name: str):
        return await ask(m.InitProducerIdRequest(transactional_id=name))

    async def scenario(ask: Ask) -> None:
        await ask.register()
        assert (await claim(ask, "__consumer_offsets-0")).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        await ask.create("__consumer_offsets")
        await ask.register(10_001)
        await asyncio.sleep(1)
        first, second = await claim(ask, "__consumer_offsets-0"), await claim(ask, "__consumer_offsets-0")
        assert (first.error_code, first.producer_epoch, second.producer_epoch) == (0, 0, 1)
        for name in ("my-transaction", "__consumer_offsets", "__consumer_offsets-x", "other-1"):
            assert (await claim(ask, name)).error_code == ErrorCode.INVALID_REQUEST

    with_controllers(tmp_path, scenario, node_id=NodeId(10_001))


@pytest.mark.parametrize(
    ("node_id", "error"),
    [
        (NO_NODE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (NodeId(1), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (NodeId(10_002), ErrorCode.NOT_COORDINATOR),
    ],
)
def test_nobody_claims_a_shard_but_its_coordinator(tmp_path, node_id: NodeId, error: ErrorCode) -> None:
    async def scenario(ask: Ask) -> None:
        await ask.register()
        await ask.create("__consumer_offsets")
        await ask.register(10_001)
        await asyncio.sleep(1)
        claimed = await ask(m.InitProducerIdRequest(transactional_id="__consumer_offsets-0"))
        assert (claimed.error_code, claimed.producer_id, claimed.producer_epoch) == (error, -1, -1)

    with_controllers(tmp_path, scenario, node_id=node_id)


def test_producer_ids_and_departures(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        epoch = await ask.register()
        block = await ask(m.AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch))
        assert (block.error_code, block.producer_id_len) == (ErrorCode.NONE, 1_000)
        assert (await ask(m.UnregisterBrokerRequest(broker_id=1))).error_code == ErrorCode.NONE
        gone = await ask(m.UnregisterBrokerRequest(broker_id=1))
        assert (gone.error_code, bool(gone.error_message)) == (ErrorCode.BROKER_ID_NOT_REGISTERED, True)

    with_controllers(tmp_path, scenario)


def fetch_of(offset: int, version: int, replica: int = -1, topic: str = METADATA, topic_id: UUID = METADATA_ID):
    partition = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    if version < 13:
        topics = [fetch.FetchTopic(topic=topic, partitions=[partition])]
    else:
        topics = [fetch.FetchTopic(topic_id=topic_id, partitions=[partition])]
    return m.FetchRequest(
        replica_id=replica if version < 15 else -1,
        replica_state=fetch.ReplicaState(replica_id=replica if version >= 15 else -1),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=topics,
    )


def test_the_log_is_fetched_by_name_or_by_id_with_long_polls(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        for version in (4, 12, 13, 18):
            found = (await ask(fetch_of(0, version), version)).responses[0].partitions[0]
            assert (found.error_code, found.high_watermark) == (ErrorCode.NONE, BORN)
            assert b"ClusterCreated" in bytes(found.records)
        began = asyncio.get_running_loop().time()
        found = (await ask(fetch_of(BORN, 17), 17)).responses[0].partitions[0]
        assert 0.4 < asyncio.get_running_loop().time() - began < 2
        assert found.records in (b"", None) or len(found.records) == 0
        beyond = (await ask(fetch_of(BORN + 1, 17, replica=1), 17)).responses[0].partitions[0]
        assert beyond.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert beyond.current_leader.leader_epoch == 1
        unknown = (await ask(fetch_of(0, 12, topic="t"), 12)).responses[0].partitions[0]
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unknown = (await ask(fetch_of(0, 17, topic_id=UUID(int=5)), 17)).responses[0].partitions[0]
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    with_controllers(tmp_path, scenario)


def test_a_leader_changes_the_isr_and_only_in_its_own_name(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        epoch, other = await ask.register(1), await ask.register(2)
        assignments = [create_topics.CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2])]
        topic = create_topics.CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1, assignments=assignments
        )
        topic_id = (await ask(m.CreateTopicsRequest(topics=[topic]))).topics[0].topic_id

        async def propose(broker_id: int, version: int, partition_epoch: int, isr: dict[int, int], resigns=False):
            part = alter_partition.RequestPartitionData(partition_epoch=partition_epoch, resigns=resigns)
            if version == 2:
                part.new_isr = list(isr)
            else:
                part.new_isr_with_epochs = [
                    alter_partition.BrokerState(broker_id=node, broker_epoch=life) for node, life in isr.items()
                ]
            data = alter_partition.RequestTopicData(topic_id=topic_id, partitions=[part])
            request = m.AlterPartitionRequest(broker_id=broker_id, broker_epoch=epoch, topics=[data])
            return await ask(request, version)

        assert (await propose(2, 3, 0, {1: epoch})).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        shrunk = (await propose(1, 3, 0, {1: epoch})).topics[0].partitions[0]
        assert (shrunk.error_code, shrunk.leader_id, shrunk.isr, shrunk.partition_epoch) == (0, 1, [1], 1)
        late = (await propose(1, 3, 0, {1: epoch})).topics[0].partitions[0]
        assert late.error_code == ErrorCode.INVALID_UPDATE_VERSION
        grown = (await propose(1, 2, 1, {1: epoch, 2: other})).topics[0].partitions[0]
        assert (grown.error_code, grown.isr, grown.leader_recovery_state) == (0, [1, 2], 0)
        resigned = (await propose(1, 3, 2, {1: epoch, 2: other}, resigns=True)).topics[0].partitions[0]
        assert resigned.error_code == ErrorCode.NEW_LEADER_ELECTED
        stale = await ask(m.AlterPartitionRequest(broker_id=1, broker_epoch=epoch - 1))
        assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH

    with_controllers(tmp_path, scenario, node_id=NodeId(1))


def test_replicas_are_moved_and_moved_back_in_both_versions(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        for node_id in (1, 2, 3):
            await ask.register(node_id)
        await ask.create("t", assignments=[create_topics.CreatableReplicaAssignment(broker_ids=[1, 2])])

        async def move(version: int, *partitions: tuple[int, list[int] | None], may_change_factor: bool = True):
            wanted = [
                reassignments.ReassignablePartition(partition_index=index, replicas=nodes)
                for index, nodes in partitions
            ]
            request = m.AlterPartitionReassignmentsRequest(
                topics=[reassignments.ReassignableTopic(name="t", partitions=wanted)],
                allow_replication_factor_change=may_change_factor,
            )
            (topic,) = (await ask(request, version)).responses
            return [(each.partition_index, each.error_code, each.error_message) for each in topic.partitions]

        for version in (0, 1):
            assert await move(version, (0, [3, 2]), (7, [1, 2])) == [
                (0, ErrorCode.NONE, None),
                (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition t:7."),
            ]
            assert await move(version, (0, None)) == [(0, ErrorCode.NONE, None)]
            assert await move(version, (0, None)) == [(0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)]
        refused = await move(1, (0, [2]), may_change_factor=False)
        message = "The replication factor is changed from 2 to 1"
        assert refused == [(0, ErrorCode.INVALID_REPLICATION_FACTOR, message)]
        assert await move(0, (0, [2])) == [(0, ErrorCode.NONE, None)]

    with_controllers(tmp_path, scenario, node_id=NodeId(1))


def test_any_client_finds_the_metadata_log_and_nobody_writes_it(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        for version in (0, 1, 12, 13):
            request = m.MetadataRequest(topics=[] if version == 0 else None)
            told = await ask(request, version)
            assert [(node.node_id, node.host, node.port) for node in told.brokers] == [(20_000, "c0", 9093)]
            assert [topic.name for topic in told.topics] == [METADATA]
        other = await ask(m.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="t")]))
        assert other.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for timestamp, offset in ((-2, 0), (-1, BORN)):
            partition = list_offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
            topic = list_offsets.ListOffsetsTopic(name=METADATA, partitions=[partition])
            found = (await ask(m.ListOffsetsRequest(topics=[topic]))).topics[0].partitions[0]
            assert (found.error_code, found.offset) == (ErrorCode.NONE, offset)
        data = produce.TopicProduceData(
            topic_id=METADATA_ID, partition_data=[produce.PartitionProduceData(index=0, records=b"")]
        )
        refused = await ask(m.ProduceRequest(acks=1, topic_data=[data]))
        assert refused.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION

    with_controllers(tmp_path, scenario)


def test_a_snapshot_that_is_not_there_is_told_so(tmp_path) -> None:
    async def scenario(ask: Ask) -> None:
        partition = fetch_snapshot.RequestPartitionSnapshot(snapshot_id=fetch_snapshot.SnapshotId(end_offset=-1))
        topic = fetch_snapshot.RequestTopicSnapshot(name=METADATA, partitions=[partition])
        answer = await ask(m.FetchSnapshotRequest(topics=[topic]))
        assert answer.topics[0].partitions[0].error_code == ErrorCode.SNAPSHOT_NOT_FOUND

    with_controllers(tmp_path, scenario)


def for_the_active_one() -> list:
    return [
        fetch_of(0, 17),
        m.CreateTopicsRequest(topics=[create_topics.CreatableTopic(name="t")]),
        m.DeleteTopicsRequest(topics=[delete_topics.DeleteTopicState(name="t")], timeout_ms=5_000),
        m.InitProducerIdRequest(transactional_id="__consumer_offsets-0"),
        m.AlterConfigsRequest(resources=[alter_configs.AlterConfigsResource(resource_type=2)]),
        m.CreatePartitionsRequest(topics=[create_partitions.CreatePartitionsTopic(name="t")], timeout_ms=5_000),
        m.IncrementalAlterConfigsRequest(resources=[incremental_alter_configs.AlterConfigsResource(resource_type=2)]),
        m.ElectLeadersRequest(topic_partitions=None),
        m.AlterPartitionReassignmentsRequest(),
        m.AlterClientQuotasRequest(entries=[alter_client_quotas.RequestEntryData()]),
        m.AlterUserScramCredentialsRequest(deletions=[alter_user_scram_credentials.ScramCredentialDeletion(name="u")]),
        m.DescribeQuorumRequest(),
        m.FetchSnapshotRequest(),
        m.BrokerRegistrationRequest(),
        m.BrokerHeartbeatRequest(),
        m.UnregisterBrokerRequest(),
        m.UpdateFeaturesRequest(),
        m.AllocateProducerIdsRequest(),
        m.AssignReplicasToDirsRequest(),
        m.AlterPartitionRequest(),
    ]


def test_a_standby_answers_not_controller_to_everything_and_names_the_active_one(tmp_path) -> None:
    requests = for_the_active_one()

    async def scenario(ask: Ask) -> None:
        for request in requests:
            assert says_not_controller(await ask(request)), request
        assert {ApiKey(request.api_key) for request in requests} == set(HANDLERS) - {
            ApiKey.METADATA,
            ApiKey.LIST_OFFSETS,
            ApiKey.PRODUCE,
            ApiKey.ENVELOPE,  # its answer is inside
            ApiKey.CREATE_ACLS,  # without an authorizer there are none, whoever is active
            ApiKey.DELETE_ACLS,
            ApiKey.CREATE_DELEGATION_TOKEN,  # not for who has not logged in, whoever is active
            ApiKey.RENEW_DELEGATION_TOKEN,
            ApiKey.EXPIRE_DELEGATION_TOKEN,
            ApiKey.SASL_HANDSHAKE,
            ApiKey.SASL_AUTHENTICATE,
        }
        told = await ask(m.MetadataRequest(topics=None))
        assert [(node.node_id, node.host) for node in told.brokers] == [(20_000, "c0")]

    with_controllers(tmp_path, scenario, count=2, node_id=NodeId(10_001))


def test_a_standby_does_not_say_what_a_client_may_do(tmp_path) -> None:
    """Its ACLs may be old, and who is denied does not ask another controller."""
    acls = [m.CreateAclsRequest(creations=[create_acls.AclCreation()])]
    acls.append(m.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter()]))
    requests = [each for each in for_the_active_one() if not isinstance(each, m.InitProducerIdRequest)]

    async def scenario(ask: Ask) -> None:
        for request in [*requests, *acls]:
            assert says_not_controller(await ask(request)), request

    closed = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with_controllers(tmp_path, scenario, count=2, **closed)


def test_every_handled_api_is_in_the_table() -> None:
    assert all(key in API for key in HANDLERS)


def test_properties_are_read_and_refused_in_one_line() -> None:
    def config(**settings: str) -> ControllerConfig:
        values = {key.replace("_", "."): value for key, value in settings.items()}
        return ControllerConfig.from_properties(Properties({"controller.store": "file:/x", **values}))

    assert config(node_id="3").node_id == 20_003
    assert isinstance(config().store, InDirectory)
    assert config(controller_store="kubernetes:ns/name").store == InKubernetes("ns", "name")
    assert config(num_partitions="4").settings.num_partitions == 4
    for wrong in (
        {"node_id": "10000"},
        {"controller_store": "somewhere"},
        {"controller_store": "kubernetes:ns"},
        {"controller_store": "file:"},
        {"listeners": "127.0.0.1:9093"},
        {"listeners": "A://h:1,B://h:2"},
        {"listeners": "CONTROLLER://0.0.0.0:9093"},
        {"controller_takeover_timeout_ms": "1"},
    ):
        with pytest.raises(PropertyError):
            config(**wrong)

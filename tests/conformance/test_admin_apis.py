"""The rarer admin requests, asked of Apache Kafka and of us: one answer, word for word.

Each case says what it asks given a server's own facts (its broker's id, its directory); answers are compared after these are
taken out of them.
"""

import dataclasses
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker

from millstream_wire import messages as m
from millstream_wire.messages import alter_client_quotas as alter_quotas
from millstream_wire.messages import alter_partition_reassignments as reassignments
from millstream_wire.messages import alter_replica_log_dirs as log_dirs
from millstream_wire.messages import (
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_topics,
    describe_configs,
    describe_quorum,
    elect_leaders,
)
from millstream_wire.messages import describe_client_quotas as quotas
from millstream_wire.messages import describe_topic_partitions as pages
from millstream_wire.messages import describe_user_scram_credentials as scram
from millstream_wire.messages import list_partition_reassignments as listed

TOPIC = f"admin_{uuid.uuid4().hex[:10]}"
Asked = Callable[[int, str], Any]


def _acl() -> create_acls.AclCreation:
    return create_acls.AclCreation(
        resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )


def _acl_filter() -> delete_acls.DeleteAclsFilter:
    return delete_acls.DeleteAclsFilter(
        resource_type_filter=2, resource_name_filter="t", principal_filter=None, operation=3, permission_type=3
    )


def _elect(kind: int, *asked: tuple[str, int]) -> m.ElectLeadersRequest:
    topics = [elect_leaders.TopicPartitions(topic=topic, partitions=[index]) for topic, index in asked]
    return m.ElectLeadersRequest(election_type=kind, topic_partitions=topics)


def _move(replicas: list[int] | None, topic: str = TOPIC, index: int = 0) -> m.AlterPartitionReassignmentsRequest:
    partition = reassignments.ReassignablePartition(partition_index=index, replicas=replicas)
    topics = [reassignments.ReassignableTopic(name=topic, partitions=[partition])]
    return m.AlterPartitionReassignmentsRequest(topics=topics)


def _to_dir(path: str, topic: str, index: int) -> m.AlterReplicaLogDirsRequest:
    topics = [log_dirs.AlterReplicaLogDirTopic(name=topic, partitions=[index])]
    return m.AlterReplicaLogDirsRequest(dirs=[log_dirs.AlterReplicaLogDir(path=path, topics=topics)])


def _moving(topic: str) -> m.ListPartitionReassignmentsRequest:
    wanted = listed.ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0])
    return m.ListPartitionReassignmentsRequest(topics=[wanted])


def _scram(*users: str) -> m.DescribeUserScramCredentialsRequest:
    return m.DescribeUserScramCredentialsRequest(users=[scram.UserName(name=user) for user in users])


def _quota(key: str, value: float, *entity: tuple[str, str | None], remove: bool = False) -> m.AlterClientQuotasRequest:
    parts = [alter_quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    op = alter_quotas.OpData(key=key, value=value, remove=remove)
    return m.AlterClientQuotasRequest(entries=[alter_quotas.RequestEntryData(entity=parts, ops=[op])])


def _quotas(*filters: tuple[str, int, str | None], strict: bool = False) -> m.DescribeClientQuotasRequest:
    components = [quotas.ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in filters]
    return m.DescribeClientQuotasRequest(components=components, strict=strict)


def _page(limit: int, *cursor: tuple[str, int]) -> m.DescribeTopicPartitionsRequest:
    return m.DescribeTopicPartitionsRequest(
        topics=[pages.TopicRequest(name=TOPIC)],
        response_partition_limit=limit,
        cursor=next((pages.Cursor(topic_name=topic, partition_index=index) for topic, index in cursor), None),
    )


def _new(*named: str, **said: Any) -> m.CreateTopicsRequest:
    """Only asked about; what is not said is the server's default."""
    said = {"num_partitions": -1, "replication_factor": -1} | said
    timeout_ms = said.pop("timeout_ms", 30_000)
    topics = [create_topics.CreatableTopic(name=name, **said) for name in named or (f"new-{TOPIC}",)]
    return m.CreateTopicsRequest(topics=topics, validate_only=True, timeout_ms=timeout_ms)


def _assigned(*partitions: tuple[int, list[int]], **said: Any) -> m.CreateTopicsRequest:
    each = [
        create_topics.CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in partitions
    ]
    return _new(assignments=each, **said)


def _configured(**configs: str | None) -> m.CreateTopicsRequest:
    given = [
        create_topics.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
    ]
    return _new(configs=given)


def _more(count: int, *assignments: list[int], topic: str = TOPIC, times: int = 1, timeout_ms: int = 30_000) -> Any:
    by_hand = [create_partitions.CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    wanted = create_partitions.CreatePartitionsTopic(name=topic, count=count, assignments=by_hand or None)
    return m.CreatePartitionsRequest(topics=[wanted] * times, validate_only=True, timeout_ms=timeout_ms)


def _without(*topics: str, timeout_ms: int = 30_000) -> m.DeleteTopicsRequest:
    """For every version: by name in the newest too."""
    states = [delete_topics.DeleteTopicState(name=name) for name in topics]
    return m.DeleteTopicsRequest(topics=states, topic_names=list(topics), timeout_ms=timeout_ms)


def _quorum(*asked: tuple[str, list[int]]) -> m.DescribeQuorumRequest:
    topics = [
        describe_quorum.RequestTopicData(
            topic_name=topic,
            partitions=[describe_quorum.RequestPartitionData(partition_index=index) for index in indexes],
        )
        for topic, indexes in asked
    ]
    return m.DescribeQuorumRequest(topics=topics)


USER = ("user", f"user-{TOPIC}")
RATE = "producer_byte_rate"
CASES: dict[str, Asked] = {
    "describe acls": lambda broker, path: m.DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
    ),
    "create acls": lambda broker, path: m.CreateAclsRequest(creations=[_acl(), _acl()]),
    "delete acls": lambda broker, path: m.DeleteAclsRequest(filters=[_acl_filter()]),
    "sasl handshake": lambda broker, path: m.SaslHandshakeRequest(mechanism="PLAIN"),
    "sasl authenticate": lambda broker, path: m.SaslAuthenticateRequest(auth_bytes=b"\0a\0b"),
    "create token": lambda broker, path: m.CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name="a"
    ),
    "renew token": lambda broker, path: m.RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1000),
    "expire token": lambda broker, path: m.ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1000),
    "describe tokens": lambda broker, path: m.DescribeDelegationTokenRequest(owners=None),
    "no new partition": lambda broker, path: _new(num_partitions=0),
    "fewer than no new partitions": lambda broker, path: _new(num_partitions=-2),
    "too many new partitions": lambda broker, path: _new(num_partitions=10_001),
    "more replicas than brokers": lambda broker, path: _new(replication_factor=3),
    "no replica": lambda broker, path: _new(replication_factor=0),
    "fewer than no replicas": lambda broker, path: _new(num_partitions=0, replication_factor=-2),
    "a new topic twice": lambda broker, path: _new("a", "a"),
    "a new topic that there is": lambda broker, path: _new(TOPIC),
    "a new topic that collides": lambda broker, path: _new(TOPIC.replace("_", ".")),
    "a new topic without a name": lambda broker, path: _new(""),
    "a new topic that is the metadata log": lambda broker, path: _new("__cluster_metadata"),
    "a new topic in no time": lambda broker, path: _new(timeout_ms=0),
    "a new topic twice in no time": lambda broker, path: _new("a", "a", timeout_ms=0),
    "a new topic twice and another in no time": lambda broker, path: _new("a", "a", "b", timeout_ms=0),
    "the metadata log as a new topic in no time": lambda broker, path: _new("__cluster_metadata", timeout_ms=0),
    "a new topic in less than no time": lambda broker, path: _new(timeout_ms=-1),
    "assigned and counted": lambda broker, path: _assigned((0, [broker]), num_partitions=1),
    "assigned and replicated": lambda broker, path: _assigned((0, [broker]), num_partitions=1, replication_factor=1),
    "assigned with a gap": lambda broker, path: _assigned((0, [broker]), (2, [broker])),
    "assigned with a gap to an unknown broker": lambda broker, path: _assigned((0, [broker]), (2, [broker, 987])),
    "assigned to nobody beyond a gap": lambda broker, path: _assigned((7, [])),
    "assigned twice": lambda broker, path: _assigned((0, [broker]), (0, [broker])),
    "assigned to nobody": lambda broker, path: _assigned((0, [])),
    "assigned to an unknown broker": lambda broker, path: _assigned((0, [broker, 987])),
    "assigned to one broker twice": lambda broker, path: _assigned((0, [broker, broker])),
    "lags that contradict": lambda broker, path: _configured(min_compaction_lag_ms="2", max_compaction_lag_ms="1"),
    "a wrong config": lambda broker, path: _configured(retention_ms="x"),
    "a wrong config beside an unknown one": lambda broker, path: _configured(retention_ms="x", no_such="1"),
    "configs without values": lambda broker, path: _configured(retention_ms=None, flush_ms="x", no_such=None),
    "a config of a storage that there is not": lambda broker, path: _configured(remote_storage_enable="true"),
    "as many partitions": lambda broker, path: _more(2),
    "fewer partitions": lambda broker, path: _more(1),
    "partitions for an unknown topic": lambda broker, path: _more(3, topic="no-such-topic"),
    "partitions for one topic twice": lambda broker, path: _more(3, times=2),
    "partitions in no time": lambda broker, path: _more(3, timeout_ms=0),
    "partitions for one topic twice in no time": lambda broker, path: _more(3, times=2, timeout_ms=0),
    "more partitions than are assigned": lambda broker, path: _more(4, [broker]),
    "more partitions assigned to nobody": lambda broker, path: _more(3, []),
    "more partitions for an unknown broker": lambda broker, path: _more(3, [987]),
    "an unknown topic deleted": lambda broker, path: _without("no-such-topic"),
    "a topic deleted twice": lambda broker, path: _without(TOPIC, TOPIC),
    "a topic deleted in no time": lambda broker, path: _without(TOPIC, timeout_ms=0),
    "a topic deleted twice in no time": lambda broker, path: _without(TOPIC, TOPIC, timeout_ms=0),
    "a topic deleted by name and id in no time": lambda broker, path: m.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=TOPIC, topic_id=uuid.UUID(int=7))], timeout_ms=0
    ),
    "a quorum of nothing": lambda broker, path: _quorum(),
    "an unknown quorum": lambda broker, path: _quorum(("no-such-topic", [0])),
    "an unknown partition of the quorum": lambda broker, path: _quorum(("__cluster_metadata", [0, 1])),
    "an election in no time": lambda broker, path: m.ElectLeadersRequest(
        topic_partitions=[elect_leaders.TopicPartitions(topic=TOPIC, partitions=[0])], timeout_ms=0
    ),
    "an unknown election in no time": lambda broker, path: m.ElectLeadersRequest(
        election_type=5, topic_partitions=None, timeout_ms=0
    ),
    "an unknown election of nothing in no time": lambda broker, path: m.ElectLeadersRequest(
        election_type=5, topic_partitions=[], timeout_ms=0
    ),
    "no moves": lambda broker, path: m.AlterPartitionReassignmentsRequest(allow_replication_factor_change=False),
    "no moves in no time": lambda broker, path: m.AlterPartitionReassignmentsRequest(timeout_ms=0),
    "a move cancelled": lambda broker, path: _move(None),
    "move twice to an unknown broker": lambda broker, path: _move([987, 987]),
    "moves in no time": lambda broker, path: dataclasses.replace(_move([broker]), timeout_ms=0),
    "preferred election": lambda broker, path: _elect(0, (TOPIC, 0), (TOPIC, 7), ("no-such-topic", 0)),
    "unclean election": lambda broker, path: _elect(1, (TOPIC, 0), (TOPIC, 7), ("no-such-topic", 0)),
    "unknown election": lambda broker, path: _elect(5, (TOPIC, 0)),
    "election of nothing": lambda broker, path: _elect(0),
    "move to where it is": lambda broker, path: _move([broker]),
    "move to nowhere": lambda broker, path: _move([]),
    "move twice to one": lambda broker, path: _move([broker, broker]),
    "move to an unknown broker": lambda broker, path: _move([987]),
    "move of an unknown partition": lambda broker, path: _move([broker], index=9),
    "move of an unknown topic": lambda broker, path: _move([broker], topic="no-such-topic"),
    "moves of all": lambda broker, path: m.ListPartitionReassignmentsRequest(),
    "moves of an unknown topic": lambda broker, path: _moving("no-such-topic"),
    "to the same directory": lambda broker, path: _to_dir(path, TOPIC, 0),
    "an unknown partition to a directory": lambda broker, path: _to_dir(path, TOPIC, 9),
    "an unknown topic to a directory": lambda broker, path: _to_dir(path, "no-such-topic", 0),
    "to an unknown directory": lambda broker, path: _to_dir("/nowhere", TOPIC, 0),
    "to one unknown directory and to another": lambda broker, path: m.AlterReplicaLogDirsRequest(
        dirs=_to_dir("/nowhere", TOPIC, 0).dirs + _to_dir(path, TOPIC, 0).dirs
    ),
    "nothing to a directory": lambda broker, path: m.AlterReplicaLogDirsRequest(
        dirs=[log_dirs.AlterReplicaLogDir(path=path, topics=[log_dirs.AlterReplicaLogDirTopic(name=TOPIC)])]
    ),
    "a topic with a name too long for another directory": lambda broker, path: _to_dir(path, "x" * 214, 0),
    "a topic with a name just short enough": lambda broker, path: _to_dir(path, "x" * 213, 0),
    "configs of a type that there is not": lambda broker, path: m.DescribeConfigsRequest(
        resources=[describe_configs.DescribeConfigsResource(resource_type=kind, resource_name=TOPIC) for kind in (2, 3)]
    ),
    "a page that begins before the first partition": lambda broker, path: _page(2, (TOPIC, -1)),
    "a page that begins in another topic": lambda broker, path: _page(2, ("a", 0)),
    "scram credentials": lambda broker, path: _scram(),
    "scram credentials of nobody": lambda broker, path: _scram("a", "b", "a"),
    "a quota for nobody": lambda broker, path: _quota(RATE, 1.0),
    "a quota for one of two users": lambda broker, path: _quota(RATE, -1.0, ("user", ""), ("user", "a")),
    "a quota twice for one": lambda broker, path: m.AlterClientQuotasRequest(
        entries=_quota(RATE, 1.0, USER, ("client-id", None)).entries
        + _quota(RATE, 1.0, ("client-id", None), USER).entries,
        validate_only=True,
    ),
    "a quota for an address and a user": lambda broker, path: _quota(RATE, 1.0, ("ip", "127.0.0.1"), USER),
    "a quota for no name": lambda broker, path: _quota(RATE, 1.0, ("user", "")),
    "a quota for an unknown type": lambda broker, path: _quota(RATE, 1.0, ("zoo", "a")),
    "an unknown quota": lambda broker, path: _quota("nonsense", 1.0, USER),
    "an address's quota for a user": lambda broker, path: _quota("connection_creation_rate", 1.0, USER),
    "a user's quota for an address": lambda broker, path: _quota(RATE, 1.0, ("ip", "127.0.0.1")),
    "a quota of nothing": lambda broker, path: _quota(RATE, 0.0, USER),
    "a negative quota": lambda broker, path: _quota(RATE, -1.0, USER),
    "a quota with a fraction": lambda broker, path: _quota(RATE, 1.5, USER),
    "a quota too large": lambda broker, path: _quota(RATE, 1e30, USER),
    "a quota removed that is not there": lambda broker, path: _quota(RATE, 0.0, USER, remove=True),
    "a quota set": lambda broker, path: _quota(RATE, 1e6, USER),
    "quotas of a user": lambda broker, path: _quotas(("user", 0, USER[1])),
    "quotas of a user and no client": lambda broker, path: _quotas(("user", 0, USER[1]), strict=True),
    "quotas of a user's default client": lambda broker, path: _quotas(("user", 0, USER[1]), ("client-id", 1, None)),
    "a quota removed": lambda broker, path: _quota(RATE, 0.0, USER, remove=True),
    "quotas of a user without": lambda broker, path: _quotas(("user", 0, USER[1])),
    "quotas of addresses": lambda broker, path: _quotas(("ip", 2, None)),
    "quotas of addresses and users": lambda broker, path: _quotas(("ip", 2, None), ("user", 2, None)),
    "quotas of an unknown type": lambda broker, path: _quotas(("zoo", 2, None)),
    "quotas of no type": lambda broker, path: _quotas(("", 2, None)),
    "quotas of one type twice": lambda broker, path: _quotas(("user", 2, None), ("user", 2, None)),
    "quotas of exactly nobody": lambda broker, path: _quotas(("user", 0, None)),
    "quotas of a default with a name": lambda broker, path: _quotas(("user", 1, "x")),
    "quotas of all with a name": lambda broker, path: _quotas(("user", 2, "x"), ("user", 2, None)),
    "quotas of an unknown type matched in an unknown way": lambda broker, path: _quotas(("zoo", 7, None)),
    "quotas matched in an unknown way": lambda broker, path: _quotas(("user", 7, None)),
}


class Asking:
    """One server with the topic on it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        topic = create_topics.CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1)
        _, cluster, directories = ask(
            bootstrap,
            m.CreateTopicsRequest(topics=[topic]),
            m.DescribeClusterRequest(),
            m.DescribeLogDirsRequest(topics=None),
        )
        self.broker = cluster.brokers[0].broker_id
        self.path = directories.results[0].log_dir

    def __call__(self, case: Asked, version: int | None = None) -> str:
        (answer,) = ask(self.bootstrap, case(self.broker, self.path), version=version)
        return re.sub(rf"\bbroker {self.broker}\b", "broker N", re.sub(r"nodes=\[.*?\]\)\]", "nodes", repr(answer)))


@pytest.fixture(scope="module")
def ours(node: servers.ServerProcess) -> Asking:
    return Asking(node.bootstrap)


@pytest.fixture(scope="module")
def theirs(kafka: KafkaBroker) -> Asking:
    return Asking(kafka.bootstrap)


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_apache_kafkas(ours: Asking, theirs: Asking, case: str) -> None:
    request = CASES[case](0, "")
    for version in range(request.versions[0], request.versions[1] + 1):
        if version == 0 and "unknown election" in case:
            continue  # it knows of one kind only
        servers.eventually(lambda version=version: _same(ours(CASES[case], version), theirs(CASES[case], version)))


def _same(ours: str, theirs: str) -> None:
    assert ours == theirs


def test_a_new_topics_configs_are_told_in_the_same_order(ours: Asking, theirs: Asking) -> None:
    told = []
    for asking in (ours, theirs):
        (answer,) = ask(asking.bootstrap, _configured(retention_ms=" 5 "))
        names = [config.name for config in answer.topics[0].configs]
        told.append([name for name in names if name != "deletion.protection" and not name.startswith("millstream.")])
    assert told[0] == told[1]

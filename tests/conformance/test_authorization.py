"""What each API refuses to whom, and where: the same places and codes as Apache Kafka, asked at the same time as the same users."""

import time
from collections.abc import Iterator
from uuid import UUID

import pytest
import servers
from authorization_rows import ROWS
from authorization_scene import ACL, made, seen, versions_of
from authorization_users import (
    ADMINISTRATOR,
    ANY_ACL,
    SETTINGS,
    Server,
    User,
    acl,
    acls_of,
    connected,
    furnish,
    users,
)
from kafka_broker import KafkaBroker
from kafka_tools import KafkaUnavailable, kafka_libs, run_tools

from millstream_cluster.acls import AclOperation, AclResource
from millstream_wire import messages as m

USERS = users()
TOOLS_TIMEOUT_S = 240
STRICTER = ("FETCH-as-replica",)
"""Where ours refuse more: nobody fetches as a replica but the node itself, and Kafka takes whoever may act for the cluster."""
UNSTABLE = (("TXN_OFFSET_COMMIT-6", 6),)
"""Versions that Kafka does not offer yet."""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = [f"{key}={value}" for key, value in SETTINGS.items()]
    with servers.node(tmp_path_factory.mktemp("closed"), *settings) as node, connected(node.bootstrap) as server:
        furnish(server)
        server.create_acls(acls_of(USERS))
        yield server


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka-closed"), properties=SETTINGS)
    broker.start()
    try:
        with connected(broker.bootstrap) as server:
            furnish(server)
            server.create_acls(acls_of(USERS))
            yield server
    finally:
        broker.stop()


@pytest.mark.parametrize("name", ROWS)
def test_each_set_of_grants_is_enough_and_nothing_is_not(ours: Server, name: str) -> None:
    """The table itself: what it says that an API takes opens something."""
    key, row = ROWS[name]
    for version in versions_of(key, row):
        closed, refusals = outcome(ours, USERS[0], name, version)
        assert row.code in refusals or row.code == 0, (name, version, refusals)
        for need in row.needs:
            (user,) = (each for each in USERS if each.grants == need)
            opened, _ = outcome(ours, user, name, version)
            assert opened != closed, (name, version, str(user))


@pytest.mark.parametrize("name", ROWS)
def test_refusals_are_where_kafka_has_them(ours: Server, kafkas: Server, name: str) -> None:
    key, row = ROWS[name]
    differing = []
    for version in versions_of(key, row):
        for user in USERS if (name, version) not in UNSTABLE else ():
            answers = [outcome(server, user, name, version) for server in (ours, kafkas)]
            if name in STRICTER and not answers[1][1]:
                continue
            if answers[0] != answers[1]:
                differing.append(f"version {version}, {user}:\n  ours  {answers[0]}\n  Kafka {answers[1]}")
    assert not differing, f"{len(differing)} differ\n" + "\n".join(differing[:5])


def outcome(server: Server, user: User, name: str, version: int) -> tuple[object, set[int]]:
    """What is shown, and the refusals in it."""
    _, row = ROWS[name]
    try:
        answer = server.ask(user.host, row.ask(server.scene), version)
    except ConnectionError:
        return "closed", set()
    return seen(answer)


def test_who_writes_without_acknowledgements_and_may_not_is_cut_off(ours: Server, kafkas: Server) -> None:
    _, row = ROWS["PRODUCE"]
    for server in (ours, kafkas):
        request = row.ask(server.scene)
        request.acks = 0
        server.send(USERS[0].host, request, 9)
        with pytest.raises(ConnectionError):
            server.ask(USERS[0].host, m.MetadataRequest(), 9)


def test_missing_topics_are_created_for_who_may_create_and_see_them(ours: Server, kafkas: Server) -> None:
    topic, cluster = AclResource.TOPIC, AclResource.CLUSTER
    describe, create = (topic, AclOperation.DESCRIBE), (topic, AclOperation.CREATE)
    grants = [[describe], [create], [describe, create], [describe, (cluster, AclOperation.CREATE)], []]
    for server in (ours, kafkas):
        codes = {}
        for number, granted in enumerate(grants):
            host = f"127.0.2.{number + 1}"
            if granted:
                server.create_acls([acl(host, grant) for grant in granted])
            request = made(m.MetadataRequest, topics=[{"name": f"t-made-{number}"}], allow_auto_topic_creation=True)
            codes[number] = server.ask(host, request, 9).topics[0].error_code
        assert codes == {0: 29, 1: 29, 2: 3, 3: 3, 4: 29}
        time.sleep(1)
        everything = server.ask(ADMINISTRATOR, made(m.MetadataRequest, topics=None), 9)
        assert {topic.name for topic in everything.topics if "made" in topic.name} == {"t-made-2", "t-made-3"}


def test_who_asks_by_name_to_delete_what_he_may_only_describe_is_not_told_its_id(ours: Server, kafkas: Server) -> None:
    host = "127.0.2.20"
    for server in (ours, kafkas):
        server.create_acls([acl(host, (AclResource.TOPIC, AclOperation.DESCRIBE))])
        request = made(m.DeleteTopicsRequest, topics=[{"name": "t-a"}], timeout_ms=1_000)
        (told,) = server.ask(host, request, 6).responses
        assert (told.name, told.topic_id, told.error_code) == ("t-a", UUID(int=0), 29)


def test_who_creates_a_topic_and_may_not_see_its_configuration_is_shown_none(ours: Server, kafkas: Server) -> None:
    host = "127.0.2.21"
    for server in (ours, kafkas):
        server.create_acls([acl(host, (AclResource.TOPIC, AclOperation.CREATE))])
        topics = [{"name": "t-hidden", "num_partitions": 1, "replication_factor": 1}]
        request = made(m.CreateTopicsRequest, topics=topics, timeout_ms=1_000, validate_only=True)
        (told,) = server.ask(host, request, 7).topics
        assert (told.error_code, told.topic_config_error_code, told.num_partitions, told.configs) == (0, 29, -1, [])


def test_acls_are_made_described_and_deleted_as_kafka_does(ours: Server, kafkas: Server) -> None:
    answers = [list(_acl_answers(server)) for server in (ours, kafkas)]
    for our, kafka in zip(*answers, strict=True):
        assert our == kafka


def _acl_answers(server: Server) -> Iterator[object]:
    first = {"resource_name": "acl-a", "principal": "User:a", "operation": 3}
    good = [
        first,
        first,
        {**first, "resource_name": "acl-", "resource_pattern_type": 4, "operation": 4},
        {**first, "resource_name": "*", "host": "10.0.0.0/8"},
        {**first, "resource_type": 4, "resource_name": "kafka-cluster", "permission_type": 2},
        {**first, "resource_type": 5, "resource_name": "acl-x", "principal": "Group:"},
    ]
    bad = [
        {**first, "resource_name": ""},
        {**first, "resource_type": 99},
        {**first, "resource_pattern_type": 99},
        {**first, "operation": 99},
        {**first, "principal": "nobody"},
        {**first, "resource_type": 4, "resource_name": "*"},
        {**first, "resource_type": 4, "resource_name": "other"},
    ]
    answer = server.ask(ADMINISTRATOR, made(m.CreateAclsRequest, creations=[{**ACL, **each} for each in good]), 3)
    yield [(each.error_code, each.error_message) for each in answer.results]
    for each in bad:
        answer = server.ask(ADMINISTRATOR, made(m.CreateAclsRequest, creations=[{**ACL, **each}]), 3)
        yield each, [each.error_code for each in answer.results]
    filters = [
        {"pattern_type_filter": 1, "resource_name_filter": "acl-a"},
        {"pattern_type_filter": 2, "resource_name_filter": "acl-a"},
        {"pattern_type_filter": 2, "resource_name_filter": "acl-abc"},
        {"pattern_type_filter": 3, "resource_name_filter": "acl-a"},
        {"pattern_type_filter": 4, "resource_name_filter": None},
        {"pattern_type_filter": 2, "resource_name_filter": None, "principal_filter": "User:a"},
        {"resource_type_filter": 1, "principal_filter": "User:a"},
        {"resource_type_filter": 1, "principal_filter": "Group:"},
        {"host_filter": "10.0.0.0/8"},
        {"host_filter": "*", "principal_filter": "User:a"},
        {"operation": 2, "principal_filter": "User:a"},
        {"operation": 4, "principal_filter": "User:a"},
        {"permission_type": 2, "resource_type_filter": 1, "principal_filter": "User:a"},
    ]
    wanted = [{**ANY_ACL, "resource_type_filter": 2, **each} for each in filters]
    for each in wanted:
        answer = server.ask(ADMINISTRATOR, made(m.DescribeAclsRequest, **each), 3)
        yield (
            each,
            answer.error_code,
            sorted(
                (r.resource_type, r.pattern_type, r.resource_name, a.principal, a.host, a.operation, a.permission_type)
                for r in answer.resources
                for a in r.acls
                if a.principal in ("User:a", "Group:")
            ),
        )
    mine = [{**each, "principal_filter": name} for each in wanted for name in ("User:a", "Group:")]
    answer = server.ask(ADMINISTRATOR, made(m.DeleteAclsRequest, filters=mine), 3)
    yield [
        (each.error_code, sorted((a.resource_type, a.resource_name, a.error_code) for a in each.matching_acls))
        for each in answer.filter_results
    ]


def test_kafka_acls_adds_lists_and_removes(ours: Server) -> None:
    """The tool as its users run it; a producer's and a consumer's grants are what it makes of one word each."""
    server = ["--bootstrap-server", ours.bootstrap]
    about = ["--allow-principal", "User:tool", "--topic", "tool-", "--resource-pattern-type", "prefixed"]
    results = run_tools(
        [
            ("kafka-acls", [*server, "--add", *about, "--producer"]),
            ("kafka-acls", [*server, "--add", *about, "--consumer", "--group", "tool-group"]),
            (
                "kafka-acls",
                [*server, "--add", "--deny-principal", "User:tool", "--deny-host", "10.0.0.0/8", "--cluster"],
            ),
            ("kafka-acls", [*server, "--list", "--principal", "User:tool"]),
            ("kafka-acls", [*server, "--list", "--topic", "tool-x", "--resource-pattern-type", "match"]),
            ("kafka-acls", [*server, "--remove", "--force", "--topic", "tool-", "--resource-pattern-type", "prefixed"]),
            ("kafka-acls", [*server, "--list", "--principal", "User:tool"]),
        ],
        timeout_s=TOOLS_TIMEOUT_S,
    )
    assert [(result.returncode, result.stderr) for result in results if result.returncode] == []
    *_, listed, matching, _, left = [result.stdout for result in results]
    for name, kind in (("tool-", "TOPIC"), ("tool-group", "GROUP"), ("kafka-cluster", "CLUSTER")):
        assert f"resourceType={kind}, name={name}," in listed
    for operation in ("WRITE", "DESCRIBE", "CREATE", "READ"):
        assert f"principal=User:tool, host=*, operation={operation}, permissionType=ALLOW" in matching
    assert "host=10.0.0.0/8, operation=ALL, permissionType=DENY" in left
    assert "resourceType=TOPIC" not in left

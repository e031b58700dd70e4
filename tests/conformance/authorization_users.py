"""Users without credentials: who one is, is told by the address one comes from, for which ACLs have a place.

A server that starts with no ACL and `allow.everyone.if.no.acl.found` lets the first one be made; with it, and one for each type
of resource, everything is closed to all addresses but the administrator's.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from authorization_rows import ROWS
from authorization_scene import GONE, GROUPS, IDS, TOPICS, Grant, Scene, made
from wire_client import WireClient, framed

from millstream_cluster.acls import CLUSTER_NAME, EVERYBODY, AclOperation, AclPattern, AclPermission, AclResource
from millstream_wire import messages as m
from millstream_wire.api import API, ApiKey
from millstream_wire.errors import ErrorCode

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
ADMINISTRATOR = "127.0.0.1"
ANY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
PATIENCE_S = 60
NOT_YET = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
NAMES = {
    AclResource.TOPIC: "t-",
    AclResource.GROUP: "g-",
    AclResource.TRANSACTIONAL_ID: "x-",
    AclResource.CLUSTER: CLUSTER_NAME,
}
OPERATIONS = {
    AclResource.TOPIC: (3, 4, 5, 6, 7, 8, 10, 11),
    AclResource.GROUP: (3, 6, 8, 10, 11),
    AclResource.CLUSTER: (5, 7, 8, 9, 10, 11, 12),
    AclResource.TRANSACTIONAL_ID: (4, 8),
}
SINGLE: list[Grant] = [
    (resource, AclOperation(operation)) for resource, operations in OPERATIONS.items() for operation in operations
]


@dataclass(frozen=True, slots=True)
class User:
    """May do what it is granted, of all that exists with `has_all`; denials come on top."""

    host: str
    grants: frozenset[Grant] = frozenset()
    denials: frozenset[Grant] = frozenset()
    has_all: bool = False

    def __str__(self) -> str:
        said = sorted(f"{resource.name}.{operation.name}" for resource, operation in self.grants)
        denied = sorted(f"-{resource.name}.{operation.name}" for resource, operation in self.denials)
        return ",".join([*(["ALL"] if self.has_all else []), *said, *denied]) or "nothing"


def users() -> list[User]:
    """Nothing; each single grant; each set of grants that some API takes; all but each single one; all but what nobody is granted."""
    numbers = count(10)
    host = lambda: f"127.0.1.{next(numbers)}"  # noqa: E731
    several = {need for _, row in ROWS.values() for need in row.needs if len(need) > 1}
    several |= {frozenset(pair) for need in several if len(need) > 2 for pair in _pairs(need)}
    in_order = sorted(several, key=lambda need: sorted(need))
    return [
        User(host()),
        *(User(host(), frozenset({grant})) for grant in SINGLE),
        *(User(host(), need) for need in in_order),
        *(User(host(), denials=frozenset({grant}), has_all=True) for grant in SINGLE),
        User(host(), has_all=True),
    ]


def _pairs(need: frozenset[Grant]) -> Iterator[tuple[Grant, Grant]]:
    listed = sorted(need)
    for at, first in enumerate(listed):
        yield from ((first, second) for second in listed[at + 1 :])


def acl(host: str, grant: Grant, *, name: str | None = None, deny: bool = False) -> dict[str, Any]:
    resource, operation = grant
    is_cluster = resource is AclResource.CLUSTER
    literal = is_cluster or name == "*"
    return {
        "resource_type": resource,
        "resource_name": name if name is not None and not is_cluster else NAMES[resource],
        "resource_pattern_type": AclPattern.LITERAL if literal else AclPattern.PREFIXED,
        "principal": EVERYBODY,
        "host": host,
        "operation": operation,
        "permission_type": AclPermission.DENY if deny else AclPermission.ALLOW,
    }


def acls_of(everybody: Iterable[User]) -> list[dict[str, Any]]:
    made_up = [acl(ADMINISTRATOR, (resource, AclOperation.ALL), name="*") for resource in NAMES]
    for user in everybody:
        if user.has_all:
            made_up += [acl(user.host, (resource, AclOperation.ALL)) for resource in NAMES]
        made_up += [acl(user.host, grant) for grant in user.grants]
        made_up += [acl(user.host, grant, deny=True) for grant in user.denials]
    return made_up


class Server:
    """One server, ours or Apache Kafka's, with a connection for each user."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._connections: dict[str, WireClient] = {}
        self.scene = Scene({})

    def send(self, host: str, request: Any, version: int) -> None:
        self._client(host).socket.sendall(framed(request, version))

    def _client(self, host: str) -> WireClient:
        client = self._connections.get(host)
        if client is None:
            client = self._connections[host] = WireClient(self.bootstrap, source=host)
        return client

    def ask(self, host: str, request: Any, version: int) -> Any:
        client = self._client(host)
        try:
            return client.call(request, version, API[ApiKey(request.api_key)].response)
        except ConnectionError:
            del self._connections[host]
            client.close()
            raise

    def close(self) -> None:
        for client in self._connections.values():
            client.close()

    def create_acls(self, acls: list[dict[str, Any]]) -> None:
        answer = self.ask(ADMINISTRATOR, made(m.CreateAclsRequest, creations=acls), 3)
        assert [each for each in answer.results if each.error_code] == []
        wanted = len({tuple(sorted(each.items())) for each in acls if each["host"] == acls[-1]["host"]})
        asked = made(m.DescribeAclsRequest, **{**ANY_ACL, "host_filter": acls[-1]["host"]})
        deadline = time.monotonic() + PATIENCE_S
        while sum(len(each.acls) for each in self.ask(ADMINISTRATOR, asked, 3).resources) < wanted:
            assert time.monotonic() < deadline, "the node that was asked does not learn of them"
            time.sleep(0.02)


@contextmanager
def connected(bootstrap: str) -> Iterator[Server]:
    server = Server(bootstrap)
    try:
        yield server
    finally:
        server.close()


def furnish(server: Server) -> None:
    """Topics, offsets of groups and transactional ids that the rows speak of, while the administrator may do everything."""
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in (*TOPICS, *GONE)]
    server.ask(ADMINISTRATOR, made(m.CreateTopicsRequest, topics=topics, timeout_ms=10_000), 5)
    asked = made(m.MetadataRequest, topics=[{"name": name} for name in (*TOPICS, *GONE)])
    answer = _until_known(server, asked, 12)
    server.scene = Scene({topic.name: topic.topic_id for topic in answer.topics})
    for group in GROUPS:
        _until_known(server, made(m.FindCoordinatorRequest, coordinator_keys=[group]), 4)
        offsets = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 7}]} for name in TOPICS]
        commit = made(m.OffsetCommitRequest, group_id=group, generation_id_or_member_epoch=-1, topics=offsets)
        _until_known(server, commit, 8)
    for transactional_id in IDS:
        _until_known(server, made(m.FindCoordinatorRequest, key_type=1, coordinator_keys=[transactional_id]), 4)
        begun = made(m.InitProducerIdRequest, transactional_id=transactional_id, transaction_timeout_ms=60_000)
        _until_known(server, begun, 4)


def _until_known(server: Server, request: Any, version: int) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = server.ask(ADMINISTRATOR, request, version)
        if not any(f"error_code={code.value}" in repr(answer) for code in NOT_YET):
            return answer
        assert time.monotonic() < deadline, request
        time.sleep(0.1)

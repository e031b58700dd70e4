"""The authorizer against what Apache Kafka 4.3.1 was seen to answer, and against a look at every ACL."""

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_cluster.acls import (
    CLUSTER_NAME,
    EVERYBODY,
    Acl,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from millstream_cluster.image.acls import CHANGES_KEPT, AclsImage
from millstream_cluster.principal import USER, Principal
from millstream_cluster.records import AclAdded, AclRemoved
from millstream_security.authorization.authorizer import ANSWERS_MAX, RIGHTS_MAX, Authorizer, AuthorizerConfig, Rights
from millstream_security.authorization.hosts import is_from

O, R = AclOperation, AclResource  # noqa: E741
LITERAL, PREFIXED = AclPattern.LITERAL, AclPattern.PREFIXED
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
ALICE = Principal(USER, "alice")
HOST = "10.1.2.3"


def acl(
    operation: AclOperation,
    name: str = "t",
    *,
    deny: bool = False,
    pattern: AclPattern = LITERAL,
    resource: AclResource = R.TOPIC,
    principal: str = "User:alice",
    host: str = "*",
) -> Acl:
    return Acl(resource, pattern, name, principal, host, operation, DENY if deny else ALLOW)


class Scene:
    """An authorizer over ACLs that may change."""

    def __init__(self, *acls: Acl, super_users: frozenset[str] = frozenset(), allow_everyone: bool = False) -> None:
        self.image = AclsImage()
        self._next = 0
        self.authorizer = Authorizer(AuthorizerConfig(super_users, allow_everyone), lambda: self.image)
        for each in acls:
            self.add(each)

    def add(self, each: Acl) -> None:
        self._next += 1
        self.image.apply(AclAdded.of(UUID(int=self._next), each))

    def remove(self, each: Acl) -> None:
        self.image.apply(AclRemoved(self.image.ids[each]))

    def rights(self, principal: Principal = ALICE, host: str = HOST) -> Rights:
        return self.authorizer.rights(principal, host)

    def may(self, operation: AclOperation, name: str = "t", resource: AclResource = R.TOPIC) -> bool:
        return self.rights().may(operation, resource, name)


def test_without_an_acl_nothing_is_allowed() -> None:
    assert not Scene().may(O.DESCRIBE)


@pytest.mark.parametrize(
    ("granted", "implied"),
    [
        (O.READ, {O.READ, O.DESCRIBE}),
        (O.WRITE, {O.WRITE, O.DESCRIBE}),
        (O.DELETE, {O.DELETE, O.DESCRIBE}),
        (O.ALTER, {O.ALTER, O.DESCRIBE}),
        (O.ALTER_CONFIGS, {O.ALTER_CONFIGS, O.DESCRIBE_CONFIGS}),
        (O.CREATE, {O.CREATE}),
        (O.CLUSTER_ACTION, {O.CLUSTER_ACTION}),
        (O.IDEMPOTENT_WRITE, {O.IDEMPOTENT_WRITE}),
        (O.ALL, set(O)),
    ],
)
def test_what_a_grant_implies(granted: AclOperation, implied: set[AclOperation]) -> None:
    scene = Scene(acl(granted))
    assert {operation for operation in O if scene.may(operation)} == implied


def test_only_an_allow_implies() -> None:
    scene = Scene(acl(O.ALL), acl(O.READ, deny=True))
    assert not scene.may(O.READ)
    assert scene.may(O.DESCRIBE)
    scene = Scene(acl(O.READ), acl(O.DESCRIBE, deny=True))
    assert scene.may(O.READ)
    assert not scene.may(O.DESCRIBE)
    assert not Scene(acl(O.READ), acl(O.ALL, deny=True)).may(O.READ)


@pytest.mark.parametrize("denied", [("t", LITERAL), ("*", LITERAL), ("", PREFIXED), ("t", PREFIXED)])
@pytest.mark.parametrize("allowed", [("t", LITERAL), ("*", LITERAL), ("t", PREFIXED)])
def test_any_deny_beats_any_allow(allowed: tuple[str, AclPattern], denied: tuple[str, AclPattern]) -> None:
    allow, deny = acl(O.READ, allowed[0], pattern=allowed[1]), acl(O.READ, denied[0], pattern=denied[1], deny=True)
    assert Scene(allow).may(O.READ)
    assert not Scene(allow, deny).may(O.READ)
    assert not Scene(deny, allow).may(O.READ)


def test_patterns() -> None:
    scene = Scene(acl(O.READ, "team-", pattern=PREFIXED), acl(O.READ, "x*"), acl(O.READ, "*", pattern=PREFIXED))
    assert scene.may(O.READ, "team-")
    assert scene.may(O.READ, "team-a")
    assert not scene.may(O.READ, "team")
    assert not scene.may(O.READ, "xy"), "no glob"
    assert scene.may(O.READ, "x*")
    assert scene.may(O.READ, "*y"), "a prefix that is a star"
    assert not scene.may(O.READ, "team-a", R.GROUP)


def test_principals_are_compared_to_the_letter() -> None:
    assert not Scene(acl(O.READ, principal="user:alice")).may(O.READ)
    assert not Scene(acl(O.READ, principal="Group:alice")).may(O.READ)
    assert not Scene(acl(O.READ, principal="User:Alice")).may(O.READ)
    assert Scene(acl(O.READ, principal=EVERYBODY)).may(O.READ)


@pytest.mark.parametrize(
    ("rule", "host", "matches"),
    [
        ("*", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.4", "10.1.2.3", False),
        ("10.1.0.0/16", "10.1.2.3", True),
        ("10.1.2.3/16", "10.1.9.9", True),
        ("10.2.0.0/16", "10.1.2.3", False),
        ("localhost", "127.0.0.1", False),
        ("10.1.0.0/99", "10.1.2.3", False),
        ("0:0:0:0:0:0:0:1", "::1", True),
        ("::1", "[::1]", True),
        ("fd00::/8", "fd12::7", True),
        ("fd00::/8", "10.1.2.3", False),
        ("10.0.0.0/8", "::ffff:10.1.2.3", True),
        ("pod", "pod", True),
    ],
)
def test_hosts(rule: str, host: str, matches: bool) -> None:
    assert is_from(host, rule) is matches


def test_an_acl_of_another_host_does_not_count() -> None:
    scene = Scene(acl(O.READ, host="10.9.9.9"), acl(O.WRITE), acl(O.WRITE, deny=True, host="10.9.0.0/16"))
    assert not scene.may(O.READ)
    assert scene.may(O.WRITE)
    assert scene.rights(host="10.9.9.9").may(O.READ, R.TOPIC, "t")
    assert not scene.rights(host="10.9.9.9").may(O.WRITE, R.TOPIC, "t")


def test_super_users_skip_everything() -> None:
    scene = Scene(acl(O.ALL, "*", deny=True), super_users=frozenset({"User:alice"}))
    assert scene.may(O.WRITE)
    assert scene.rights().may_any(O.WRITE, R.TOPIC)
    assert not scene.rights(Principal(USER, "Alice")).may(O.WRITE, R.TOPIC, "t")


def test_what_no_acl_applies_to_may_be_open() -> None:
    scene = Scene(acl(O.READ, "t", principal="User:bob"), allow_everyone=True)
    assert scene.may(O.DELETE, "other")
    assert not scene.may(O.READ, "t"), "somebody else's ACL closes it"
    scene.add(acl(O.READ, "o", pattern=PREFIXED, principal="User:bob"))
    assert not scene.may(O.DELETE, "other")


def test_a_change_counts_at_once_for_who_has_asked_before() -> None:
    scene = Scene()
    rights = scene.rights()
    assert not rights.may(O.READ, R.TOPIC, "t")
    scene.add(acl(O.READ))
    assert rights.may(O.READ, R.TOPIC, "t")
    scene.remove(acl(O.READ))
    assert not rights.may(O.READ, R.TOPIC, "t")
    scene.add(acl(O.READ))
    scene.image = AclsImage()
    assert not rights.may(O.READ, R.TOPIC, "t"), "the metadata was loaded anew"


def test_more_changes_than_are_kept_are_taken_over_too() -> None:
    scene = Scene(acl(O.READ))
    rights = scene.rights()
    assert rights.may(O.READ, R.TOPIC, "t")
    scene.remove(acl(O.READ))
    for number in range(CHANGES_KEPT + 1):
        scene.add(acl(O.READ, f"other-{number}"))
    assert not rights.may(O.READ, R.TOPIC, "t")
    assert rights.may(O.READ, R.TOPIC, "other-0")


def test_no_more_answers_are_remembered_than_there_is_room_for() -> None:
    rights = Scene().rights()
    for number in range(2 * ANSWERS_MAX + 1):
        rights.may(O.READ, R.TOPIC, f"t{number}")
    assert len(rights._answers) <= ANSWERS_MAX


def test_connections_of_one_principal_from_one_address_share_what_is_remembered() -> None:
    scene = Scene()
    first = scene.rights()
    assert scene.rights() is first
    assert scene.rights(host="10.9.9.9") is not first
    assert scene.rights(Principal(USER, "bob")) is not first


def test_no_more_is_remembered_for_principals_than_there_is_room_for_and_connections_keep_theirs() -> None:
    scene = Scene(acl(O.READ))
    first = scene.rights()
    for number in range(2 * RIGHTS_MAX + 1):
        scene.rights(Principal(USER, f"user-{number}"))
    assert len(scene.authorizer._rights) <= RIGHTS_MAX
    assert first.may(O.READ, R.TOPIC, "t")
    scene.remove(acl(O.READ))
    assert not first.may(O.READ, R.TOPIC, "t")


def test_who_may_be_a_node() -> None:
    scene = Scene(acl(O.CLUSTER_ACTION, CLUSTER_NAME, resource=R.CLUSTER), super_users=frozenset({"User:admin"}))
    assert scene.authorizer.may_be_node(ALICE, HOST)
    assert scene.authorizer.may_be_node(Principal(USER, "admin"), HOST)
    assert not scene.authorizer.may_be_node(Principal(USER, "bob"), HOST)


@pytest.mark.parametrize(
    ("acls", "may"),
    [
        ([], False),
        ([acl(O.WRITE)], True),
        ([acl(O.ALL, "x", pattern=PREFIXED)], True),
        ([acl(O.WRITE, "*", principal=EVERYBODY)], True),
        ([acl(O.READ)], False),
        ([acl(O.WRITE, resource=R.GROUP)], False),
        ([acl(O.WRITE, host="10.9.9.9")], False),
        ([acl(O.WRITE), acl(O.WRITE, deny=True)], False),
        ([acl(O.WRITE), acl(O.WRITE, deny=True, host="10.9.9.9")], True),
        ([acl(O.WRITE), acl(O.WRITE, pattern=PREFIXED, deny=True)], False),
        ([acl(O.WRITE, "team"), acl(O.WRITE, "te", pattern=PREFIXED, deny=True)], False),
        ([acl(O.WRITE, "te", pattern=PREFIXED), acl(O.WRITE, "te", pattern=PREFIXED, deny=True)], False),
        ([acl(O.WRITE, "te", pattern=PREFIXED), acl(O.WRITE, "team", pattern=PREFIXED, deny=True)], True),
        ([acl(O.WRITE, "te", pattern=PREFIXED), acl(O.WRITE, "te", deny=True)], True),
        ([acl(O.WRITE, "*"), acl(O.WRITE, "t", pattern=PREFIXED, deny=True)], True),
        ([acl(O.WRITE, "*"), acl(O.WRITE, "*", deny=True)], False),
        ([acl(O.WRITE, "a"), acl(O.WRITE, "b"), acl(O.WRITE, "a", deny=True)], True),
    ],
)
def test_any_topic_to_write_to(acls: list[Acl], may: bool) -> None:
    assert Scene(*acls).rights().may_any(O.WRITE, R.TOPIC) is may


# Against a look at every ACL

names = st.text("ab*", min_size=1, max_size=3)
principals = st.sampled_from(["User:alice", "User:bob", EVERYBODY])
operations = st.sampled_from([O.READ, O.WRITE, O.DESCRIBE, O.ALL, O.ALTER_CONFIGS, O.DESCRIBE_CONFIGS])
hosts = st.sampled_from(["*", HOST, "10.1.0.0/16", "10.2.0.0/16", "10.9.9.9"])
acls = st.builds(
    Acl,
    resource=st.sampled_from([R.TOPIC, R.GROUP]),
    pattern=st.sampled_from(AclPattern),
    name=names,
    principal=principals,
    host=hosts,
    operation=operations,
    permission=st.sampled_from(AclPermission),
)


def naive(known: set[Acl], operation: AclOperation, resource: AclResource, name: str, *, otherwise: bool) -> bool:
    def applies(each: Acl) -> bool:
        if each.pattern is PREFIXED:
            return each.resource is resource and name.startswith(each.name)
        return each.resource is resource and each.name in (name, "*")

    on_it = [each for each in known if applies(each)]
    mine = [
        each
        for each in on_it
        if each.principal in ("User:alice", EVERYBODY) and each.host in ("*", HOST, "10.1.0.0/16")
    ]
    implied = {
        O.DESCRIBE: {O.READ, O.WRITE, O.DELETE, O.ALTER},
        O.DESCRIBE_CONFIGS: {O.ALTER_CONFIGS},
    }.get(operation, set())
    if any(each.permission is DENY and each.operation in (operation, O.ALL) for each in mine):
        return False
    if any(each.permission is ALLOW and each.operation in {operation, O.ALL, *implied} for each in mine):
        return True
    return otherwise and not on_it


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(acls, st.lists(st.tuples(operations, st.sampled_from([R.TOPIC, R.GROUP]), names)))),
    st.booleans(),
)
def test_it_answers_what_a_look_at_every_acl_would(
    steps: list[tuple[Acl, list[tuple[AclOperation, AclResource, str]]]], otherwise: bool
) -> None:
    """Each step adds an ACL, or takes it away if it is there; the same rights are asked throughout."""
    scene, known = Scene(allow_everyone=otherwise), set[Acl]()
    rights = scene.rights()
    for each, questions in steps:
        change: Callable[[Acl], None] = scene.remove if each in known else scene.add
        change(each)
        known ^= {each}
        for operation, resource, name in questions:
            expected = naive(known, operation, resource, name, otherwise=otherwise)
            assert rights.may(operation, resource, name) is expected, (operation, resource, name, known)

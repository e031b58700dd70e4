"""What a User resource leads to, and what it takes away."""

from dataclasses import replace
from typing import Any

import pytest

from millstream_cluster.acls import Acl, AclOperation, AclPattern, AclPermission, AclResource
from millstream_operator.plan.user import (
    CreateAcls,
    CredentialTaken,
    DeleteAcls,
    Login,
    Made,
    RemoveCredential,
    SetCredential,
    SetQuotas,
    UserPlan,
    UserSeen,
    WantedUser,
    again_ms,
    made_fields,
    made_of,
    plan_user,
    removal,
    wanted_user,
)
from millstream_operator.reconcile.resync import INTERVAL_MS

NOTHING = UserSeen(None, frozenset(), {})
ITERATIONS = 4096


def acl(name: str, operation: AclOperation = AclOperation.READ, permission: AclPermission = AclPermission.ALLOW) -> Acl:
    return Acl(AclResource.TOPIC, AclPattern.LITERAL, name, "User:shop", "*", operation, permission)


READ, WRITE = acl("orders"), acl("orders", AclOperation.WRITE)
DENIED = acl("payments", permission=AclPermission.DENY)


def wanted(*acls: Acl, login: Login = Login.SCRAM, **quotas: float) -> WantedUser:
    return WantedUser("shop", login, frozenset(acls), quotas)


def plan(
    user: WantedUser, seen: UserSeen = NOTHING, made: Made | None = None, *, password_changed: bool = False
) -> UserPlan:
    return plan_user(user, seen, made or Made(), password_changed=password_changed, iterations=ITERATIONS)


def test_a_new_user_is_denied_first_then_allowed_and_gets_its_password_last() -> None:
    found = plan(wanted(READ, DENIED, producer_byte_rate=1000.0), password_changed=True)
    assert found.steps == (
        CreateAcls(frozenset({DENIED})),
        CreateAcls(frozenset({READ})),
        SetQuotas({"producer_byte_rate": 1000.0}),
        SetCredential(),
    )
    own = Made(True, frozenset({READ, DENIED}), frozenset({"producer_byte_rate"}))
    assert (found.noted, found.made) == (own, own)


def test_a_user_as_declared_needs_nothing() -> None:
    own = Made(True, frozenset({READ}), frozenset({"producer_byte_rate"}))
    seen = UserSeen(ITERATIONS, frozenset({READ}), {"producer_byte_rate": 1.0})
    found = plan(wanted(READ, producer_byte_rate=1.0), seen, own)
    assert (found.steps, found.made) == ((), own)


def test_drift_is_put_right() -> None:
    own = Made(True, frozenset({READ}), frozenset({"producer_byte_rate"}))
    drifted = UserSeen(8192, frozenset(), {"producer_byte_rate": 7.0})
    assert plan(wanted(READ, producer_byte_rate=1.0), drifted, own).steps == (
        CreateAcls(frozenset({READ})),
        SetQuotas({"producer_byte_rate": 1.0}),
        SetCredential(),
    )


def test_what_is_no_longer_declared_goes_and_what_others_made_stays() -> None:
    own = Made(True, frozenset({READ}), frozenset({"producer_byte_rate"}))
    seen = UserSeen(ITERATIONS, frozenset({READ, WRITE}), {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0})
    found = plan(wanted(), seen, own)
    assert found.steps == (DeleteAcls(frozenset({READ})), SetQuotas({"producer_byte_rate": None}))
    assert found.made == Made(True, frozenset(), frozenset())


def test_an_acl_that_was_there_before_is_not_the_resources_to_remove() -> None:
    found = plan(wanted(READ), UserSeen(None, frozenset({READ}), {}), password_changed=True)
    assert found.steps == (SetCredential(),)
    assert found.made.acls == frozenset()
    assert removal(UserSeen(ITERATIONS, frozenset({READ}), {}), found.made) == (RemoveCredential(),)


def test_a_denial_goes_after_what_is_allowed() -> None:
    own = Made(True, frozenset({READ, DENIED}))
    steps = plan(wanted(), UserSeen(ITERATIONS, frozenset({READ, DENIED}), {}), own).steps
    assert steps == (DeleteAcls(frozenset({READ})), DeleteAcls(frozenset({DENIED})))


def test_a_password_that_somebody_else_set_is_not_overwritten() -> None:
    taken = UserSeen(ITERATIONS, frozenset(), {})
    with pytest.raises(CredentialTaken, match="not of this resource"):
        plan(wanted(READ), taken)
    assert plan(wanted(), taken, Made(credential=True)).steps == ()


def test_a_change_of_the_secret_sets_the_password_again() -> None:
    steps = plan(wanted(), UserSeen(ITERATIONS, frozenset(), {}), Made(credential=True), password_changed=True).steps
    assert steps == (SetCredential(),)


def test_a_user_with_a_certificate_gets_no_password() -> None:
    found = plan(wanted(READ, login=Login.TLS), password_changed=True)
    assert found.steps == (CreateAcls(frozenset({READ})),)
    assert found.made.credential is False


def test_stopped_after_any_step_the_next_look_ends_in_the_same_and_removal_leaves_only_what_others_made() -> None:
    others = frozenset({WRITE})
    user = wanted(READ, DENIED, producer_byte_rate=1.0)

    def perform(seen: UserSeen, step: object) -> UserSeen:
        match step:
            case CreateAcls(acls):
                return replace(seen, acls=seen.acls | acls)
            case DeleteAcls(acls):
                return replace(seen, acls=seen.acls - acls)
            case SetCredential():
                return replace(seen, iterations=ITERATIONS)
            case RemoveCredential():
                return replace(seen, iterations=None)
            case SetQuotas(values):
                quotas = {**seen.quotas, **values}
                return replace(seen, quotas={key: value for key, value in quotas.items() if value is not None})
        raise AssertionError(step)

    begun = plan(user, UserSeen(None, others, {}), password_changed=True)
    for done in range(len(begun.steps) + 1):
        seen = UserSeen(None, others, {})
        for step in begun.steps[:done]:
            seen = perform(seen, step)
        # Broken off here: the status has what was noted, not what was made.
        again = plan(user, seen, begun.noted, password_changed=True)
        ended = seen
        for step in again.steps:
            ended = perform(ended, step)
        assert ended == UserSeen(ITERATIONS, others | {READ, DENIED}, {"producer_byte_rate": 1.0})
        assert again.made == begun.made
        for step in removal(seen, begun.noted):
            seen = perform(seen, step)
        assert seen == UserSeen(None, others, {})


def test_a_resource_in_words_is_acls_by_kafkas_numbers() -> None:
    rules: list[dict[str, Any]] = [
        {"resourceType": "Topic", "name": "orders", "operations": ["Read", "Describe"], "patternType": "Prefixed"},
        {"resourceType": "Cluster", "operations": ["IdempotentWrite"], "host": "10.0.0.0/8"},
        {"resourceType": "TransactionalId", "name": "*", "operations": ["All"], "permissionType": "Deny"},
    ]
    user = wanted_user("shop", {"authorization": {"acls": rules}, "quotas": {"requestPercentage": 50}})
    assert user == WantedUser(
        "shop",
        Login.SCRAM,
        frozenset(
            {
                replace(READ, pattern=AclPattern.PREFIXED),
                replace(READ, pattern=AclPattern.PREFIXED, operation=AclOperation.DESCRIBE),
                Acl(
                    AclResource.CLUSTER,
                    AclPattern.LITERAL,
                    "kafka-cluster",
                    "User:shop",
                    "10.0.0.0/8",
                    AclOperation.IDEMPOTENT_WRITE,
                    AclPermission.ALLOW,
                ),
                Acl(
                    AclResource.TRANSACTIONAL_ID,
                    AclPattern.LITERAL,
                    "*",
                    "User:shop",
                    "*",
                    AclOperation.ALL,
                    AclPermission.DENY,
                ),
            }
        ),
        {"request_percentage": 50.0},
    )
    made = Made(True, user.acls, frozenset(user.quotas))
    assert made_of({"made": made_fields(made)}) == made
    certified = wanted_user("shop", {"userName": "Shop_1", "authentication": {"type": "Tls"}})
    assert (certified.principal_name, certified.login) == ("CN=Shop_1", Login.TLS)


def test_few_users_are_looked_at_each_time_and_many_once_a_minute() -> None:
    assert again_ms(1) <= again_ms(20) <= INTERVAL_MS
    assert again_ms(1_000) == again_ms(10_000) == 60_000

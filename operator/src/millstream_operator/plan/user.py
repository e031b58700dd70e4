"""What a User resource leads to: a credential, ACLs and quotas in the cluster, and what of them is the resource's to take away.

Only what the resource made is ever removed. It notes what it is about to make before it makes it (`Made`, in the status), so that a
look that is broken off leaves nothing behind that nobody knows to be its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from millstream_cluster.acls import CLUSTER_NAME, Acl, AclOperation, AclPattern, AclPermission, AclResource

QUOTA_KEYS = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}
AGAIN_MS_MAX, AGAIN_MS_PER_USER = 60_000, 500


class Login(Enum):
    SCRAM = "ScramSha512"
    TLS = "Tls"


@dataclass(frozen=True, slots=True)
class WantedUser:
    name: str
    login: Login
    acls: frozenset[Acl]
    quotas: Mapping[str, float]
    """By Kafka's keys."""

    @property
    def principal_name(self) -> str:
        """Without its type: what quotas are for. A certificate's subject is printed as Kafka does."""
        return self.name if self.login is Login.SCRAM else f"CN={self.name}"


@dataclass(frozen=True, slots=True)
class UserSeen:
    """The user as the cluster shows it."""

    iterations: int | None
    """Of its SCRAM-SHA-512 credential; None without one."""
    acls: frozenset[Acl]
    quotas: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Made:
    """What is this resource's own."""

    credential: bool = False
    acls: frozenset[Acl] = frozenset()
    quotas: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CreateAcls:
    acls: frozenset[Acl]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    acls: frozenset[Acl]


@dataclass(frozen=True, slots=True)
class SetCredential: ...


@dataclass(frozen=True, slots=True)
class RemoveCredential: ...


@dataclass(frozen=True, slots=True)
class SetQuotas:
    """None removes a key."""

    values: Mapping[str, float | None]


Step = CreateAcls | DeleteAcls | SetCredential | RemoveCredential | SetQuotas


@dataclass(frozen=True, slots=True)
class UserPlan:
    steps: tuple[Step, ...]
    noted: Made
    """What is the resource's own while the steps are under way: to be written down before the first."""
    made: Made
    """And once all are done."""


class CredentialTaken(Exception):
    """Somebody else has given this user a password."""


def wanted_user(resource_name: str, spec: Mapping[str, Any]) -> WantedUser:
    name = spec.get("userName") or resource_name
    login = Login((spec.get("authentication") or {}).get("type", Login.SCRAM.value))
    user = WantedUser(name, login, frozenset(), _quotas(spec))
    rules = (spec.get("authorization") or {}).get("acls") or ()
    return replace(user, acls=frozenset(acls_of(rules, f"User:{user.principal_name}")))


def acls_of(rules: Sequence[Mapping[str, Any]], principal: str) -> Iterable[Acl]:
    for rule in rules:
        resource = AclResource[_word(rule["resourceType"])]
        for operation in rule["operations"]:
            yield Acl(
                resource=resource,
                pattern=AclPattern[_word(rule.get("patternType", "Literal"))],
                name=CLUSTER_NAME if resource is AclResource.CLUSTER else rule["name"],
                principal=principal,
                host=rule.get("host", "*"),
                operation=AclOperation[_word(operation)],
                permission=AclPermission[_word(rule.get("permissionType", "Allow"))],
            )


def plan_user(wanted: WantedUser, seen: UserSeen, made: Made, *, password_changed: bool, iterations: int) -> UserPlan:
    """Raises CredentialTaken. Denials come first and go last, so that nobody may do more in between than before or after."""
    steps: list[Step] = []
    missing = wanted.acls - seen.acls
    denied = frozenset(acl for acl in missing if acl.permission is AclPermission.DENY)
    steps += [CreateAcls(some) for some in (denied, missing - denied) if some]
    unwanted = (made.acls - wanted.acls) & seen.acls
    denials = frozenset(acl for acl in unwanted if acl.permission is AclPermission.DENY)
    steps += [DeleteAcls(some) for some in (unwanted - denials, denials) if some]
    quotas: dict[str, float | None] = {key: None for key in made.quotas - wanted.quotas.keys() if key in seen.quotas}
    quotas |= {key: value for key, value in wanted.quotas.items() if seen.quotas.get(key) != value}
    if quotas:
        steps.append(SetQuotas(quotas))
    credential = _credential_step(wanted, seen, made, password_changed, iterations)
    if credential is not None:
        steps.append(credential)
    has_credential = wanted.login is Login.SCRAM
    own_acls = (made.acls & wanted.acls) | missing
    set_quotas = frozenset(key for key, value in quotas.items() if value is not None)
    own_quotas = frozenset(made.quotas & wanted.quotas.keys()) | set_quotas
    return UserPlan(
        steps=tuple(steps),
        noted=Made(made.credential or has_credential, made.acls | missing, made.quotas | set_quotas),
        made=Made(has_credential, own_acls, own_quotas),
    )


def removal(seen: UserSeen, made: Made) -> tuple[Step, ...]:
    """What was made is taken away: first the way in."""
    steps: list[Step] = []
    if made.credential and seen.iterations is not None:
        steps.append(RemoveCredential())
    if made.acls & seen.acls:
        steps.append(DeleteAcls(made.acls & seen.acls))
    quotas: dict[str, float | None] = {key: None for key in made.quotas if key in seen.quotas}
    if quotas:
        steps.append(SetQuotas(quotas))
    return tuple(steps)


def again_ms(users: int) -> int:
    """How soon a User is looked at again that has not changed: each look asks for Secrets, and for what the cluster knows of him alone.

    At every look where Users are few: whoever deletes a Secret because its password is known does not want to wait.
    """
    return min(AGAIN_MS_MAX, AGAIN_MS_PER_USER * users)


def _credential_step(
    wanted: WantedUser, seen: UserSeen, made: Made, password_changed: bool, iterations: int
) -> Step | None:
    if wanted.login is not Login.SCRAM:
        return RemoveCredential() if made.credential and seen.iterations is not None else None
    if seen.iterations is not None and not made.credential:
        raise CredentialTaken(
            f"the user {wanted.name} has a SCRAM-SHA-512 credential that is not of this resource: remove it there, or choose another name"
        )
    return SetCredential() if password_changed or seen.iterations != iterations else None


def _quotas(spec: Mapping[str, Any]) -> dict[str, float]:
    asked = spec.get("quotas") or {}
    return {QUOTA_KEYS[key]: float(value) for key, value in asked.items() if value is not None}


def _word(camel: str) -> str:
    """TransactionalId is TRANSACTIONAL_ID in Kafka's enumerations."""
    return "".join(f"_{each}" if each.isupper() else each for each in camel).lstrip("_").upper()


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))


def made_fields(made: Made) -> dict[str, Any]:
    """For the status: words, so that a person can read what is whose."""
    return {
        "credential": made.credential,
        "acls": [
            {
                "resourceType": _camel(acl.resource.name),
                "name": acl.name,
                "patternType": _camel(acl.pattern.name),
                "operations": [_camel(acl.operation.name)],
                "host": acl.host,
                "permissionType": _camel(acl.permission.name),
                "principal": acl.principal,
            }
            for acl in sorted(made.acls, key=lambda acl: (acl.resource, acl.name, acl.pattern, acl.operation, acl.host))
        ],
        "quotas": sorted(made.quotas),
    }


def made_of(status: Mapping[str, Any]) -> Made:
    found = status.get("made") or {}
    return Made(
        credential=bool(found.get("credential")),
        acls=frozenset(acl for rule in found.get("acls") or () for acl in acls_of([rule], rule["principal"])),
        quotas=frozenset(found.get("quotas") or ()),
    )

"""Who asks, and what which user may, by seed: ACLs of every kind that come and go, and requests about them and about tokens.

A token's id and its HMAC are each server's own: here both are `token:0`, of the first one made.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from authorization_scene import made

from millstream_cluster.acls import (
    ANY,
    CLUSTER_NAME,
    EVERYBODY,
    MATCH,
    WILDCARD,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
)
from millstream_wire import messages as m

USERS = ("alice", "carol", "dave", "erin")
TOKENS = 6
"""So many are named."""
MINUTE_MS = 60_000
O = AclOperation  # noqa: E741
OPERATIONS = {
    AclResource.TOPIC: (O.READ, O.WRITE, O.CREATE, O.DELETE, O.ALTER, O.DESCRIBE, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS),
    AclResource.GROUP: (O.READ, O.DELETE, O.DESCRIBE, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS),
    AclResource.CLUSTER: (O.CREATE, O.ALTER, O.DESCRIBE, O.CLUSTER_ACTION, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS, O.IDEMPOTENT_WRITE),
    AclResource.TRANSACTIONAL_ID: (O.WRITE, O.DESCRIBE, O.TWO_PHASE_COMMIT),
    AclResource.DELEGATION_TOKEN: (O.DESCRIBE,),
    AclResource.USER: (O.CREATE_TOKENS, O.DESCRIBE_TOKENS),
}  # fmt: skip
ODD = (O.IDEMPOTENT_WRITE, O.CREATE_TOKENS, O.CLUSTER_ACTION)
"""Which most resources do not have."""


@dataclass(frozen=True, slots=True)
class Names:
    literal: tuple[str, ...]
    prefixes: tuple[str, ...]


class Rights:
    def __init__(self, seed: int, topics: Sequence[str], groups: Sequence[str]) -> None:
        self.random = random.Random(f"rights {seed}")
        self._names = {
            AclResource.TOPIC: Names((*topics, "t-a", "u-a", "t-none"), ("t-", "u", f"b-{seed}", "a", "t-a")),
            AclResource.GROUP: Names((*groups, "g-a", "u-a"), ("g", "g-", "group-x")),
            AclResource.CLUSTER: Names((CLUSTER_NAME,), (CLUSTER_NAME, "kafka")),
            AclResource.TRANSACTIONAL_ID: Names(("x-a", "u-a", "x-b"), ("x", "x-")),
            AclResource.DELEGATION_TOKEN: Names(tuple(f"token:{at}" for at in range(TOKENS)), ()),
            AclResource.USER: Names(tuple(f"User:{user}" for user in USERS), ("User:", "User:c", "use")),
        }
        self._granted: list[dict[str, Any]] = []

    def user(self) -> str:
        return self.random.choice(USERS)

    def creation(self, count: int = 0) -> m.CreateAclsRequest:
        creations = [self._acl() for _ in range(count or self.random.choice([1, 1, 2, 3]))]
        self._granted += creations
        return made(m.CreateAclsRequest, creations=creations)  # type: ignore[no-any-return]

    def deletion(self) -> m.DeleteAclsRequest:
        filters = [self.filter() for _ in range(self.random.choice([1, 1, 2]))]
        return made(m.DeleteAclsRequest, filters=filters)  # type: ignore[no-any-return]

    def description(self) -> m.DescribeAclsRequest:
        return made(m.DescribeAclsRequest, **self.filter())  # type: ignore[no-any-return]

    def _acl(self) -> dict[str, Any]:
        draw = self.random
        resource = draw.choice([*AclResource, AclResource.TOPIC, AclResource.TOPIC, AclResource.GROUP])
        names = self._names[resource]
        principal = draw.choice([EVERYBODY, *(f"User:{user}" for user in USERS)])
        permission = AclPermission.DENY if draw.random() < 0.25 else AclPermission.ALLOW
        pattern = AclPattern.PREFIXED if names.prefixes and draw.random() < 0.4 else AclPattern.LITERAL
        name = draw.choice(names.prefixes if pattern is AclPattern.PREFIXED else names.literal)
        of_all = pattern is AclPattern.LITERAL and resource is not AclResource.CLUSTER and draw.random() < 0.3
        if of_all and (permission is AclPermission.ALLOW or principal != EVERYBODY):
            name = WILDCARD  # what nobody may do with anything is not drawn: it would hide that other ACLs have come
        return {
            "resource_type": resource,
            "resource_name": name,
            "resource_pattern_type": pattern,
            "principal": principal,
            "host": draw.choice([WILDCARD, WILDCARD, "127.0.0.1", "127.0.0.2"]),
            "operation": draw.choice([O.ALL, O.ALL, *OPERATIONS[resource], *OPERATIONS[resource], draw.choice(ODD)]),
            "permission_type": permission,
        }

    def filter(self) -> dict[str, Any]:
        """Of one that was given, or of several, by what they have in common with it."""
        draw = self.random
        about = draw.choice(self._granted) if self._granted else self._acl()
        exact = draw.random() < 0.5
        some = lambda value, anything: value if exact or draw.random() < 0.5 else anything  # noqa: E731
        return {
            "resource_type_filter": about["resource_type"],
            "resource_name_filter": some(about["resource_name"], None),
            "pattern_type_filter": some(about["resource_pattern_type"], draw.choice([ANY, MATCH])),
            "principal_filter": some(about["principal"], None),
            "host_filter": some(about["host"], None),
            "operation": some(about["operation"], ANY),
            "permission_type": some(about["permission_type"], ANY),
        }

    def about_tokens(self) -> Any:
        """A request of one of the four APIs; an HMAC is named as its token is."""
        draw = self.random
        hmac, period_ms = f"token:{draw.randrange(TOKENS)}".encode(), draw.choice([-1, MINUTE_MS, 10**12])
        return draw.choice(
            [
                self._token_creation(),
                self._token_description(),
                m.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms),
                m.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms),
            ]
        )

    def _token_creation(self) -> Any:
        draw = self.random
        renewers = [
            {"principal_type": draw.choice(["User"] * 9 + ["Group"]), "principal_name": name}
            for name in draw.sample(USERS, draw.choice([0, 1, 2]))
        ]
        owner = draw.choice(["", "", *USERS])
        return made(
            m.CreateDelegationTokenRequest,
            owner_principal_type="User" if owner else None,
            owner_principal_name=owner or None,
            renewers=renewers,
            max_lifetime_ms=draw.choice([-1, 10 * MINUTE_MS]),
        )

    def _token_description(self) -> Any:
        draw = self.random
        owners = [{"principal_type": "User", "principal_name": name} for name in draw.sample(USERS, 2)]
        return made(m.DescribeDelegationTokenRequest, owners=draw.choice([None, None, owners, []]))

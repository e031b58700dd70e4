"""ACLs as values: who may, or must not, do what on which resources, in Kafka's words and with its numbers.

A question (`May`) is what whoever answers from an Image asks before it shows something; who answers it is the authorizer.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final, TypeAlias

from millstream_wire.late_dataclass import dataclass


class AclOperation(IntEnum):
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclResource(IntEnum):
    """Types of resources that have ACLs; configurations have types of their own (`records.ResourceType`)."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class AclPattern(IntEnum):
    """How an ACL names its resources."""

    LITERAL = 3
    """That name, or `*` for every name of the type."""
    PREFIXED = 4


class AclPermission(IntEnum):
    DENY = 2
    ALLOW = 3


ANY: Final = 1
"""In a filter: whatever the type, pattern, operation or permission."""
MATCH: Final = 2
"""In a filter, as a pattern: all that would apply to the name."""

WILDCARD: Final = "*"
"""As a literal name: every resource of the type; as a host: every address."""
EVERYBODY: Final = "User:*"
"""The one principal of an ACL that is not taken literally."""
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of the type CLUSTER."""


@dataclass(frozen=True, slots=True)
class Acl:
    resource: AclResource
    pattern: AclPattern
    name: str
    principal: str
    """As Kafka writes it, `User:alice`; compared to the letter."""
    host: str
    operation: AclOperation
    permission: AclPermission


May: TypeAlias = Callable[[AclOperation, AclResource, str], bool]
"""Whether the one who asks may do this; where everybody may do everything, None stands for it."""


def permits(may: May | None, operation: AclOperation, resource: AclResource, name: str = CLUSTER_NAME) -> bool:
    return may is None or may(operation, resource, name)

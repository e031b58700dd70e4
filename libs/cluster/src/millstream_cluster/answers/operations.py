"""The bit fields of authorized operations: bit n is Kafka's AclOperation n."""

from typing import Final

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource, May, permits

_O = AclOperation
OPERATIONS: Final = {
    AclResource.TOPIC: (
        _O.READ,
        _O.WRITE,
        _O.CREATE,
        _O.DELETE,
        _O.ALTER,
        _O.DESCRIBE,
        _O.DESCRIBE_CONFIGS,
        _O.ALTER_CONFIGS,
    ),
    AclResource.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    AclResource.CLUSTER: (
        _O.CREATE,
        _O.ALTER,
        _O.DESCRIBE,
        _O.CLUSTER_ACTION,
        _O.DESCRIBE_CONFIGS,
        _O.ALTER_CONFIGS,
        _O.IDEMPOTENT_WRITE,
    ),
}
"""What there is to do with a resource of each type."""

NOT_ASKED: Final = -(1 << 31)
"""What the field holds when the client did not ask for it."""

_ALL = {resource: sum(1 << operation for operation in operations) for resource, operations in OPERATIONS.items()}


def authorized_operations(may: May | None, resource: AclResource, name: str) -> int:
    if may is None:
        return _ALL[resource]
    return sum(1 << operation for operation in OPERATIONS[resource] if may(operation, resource, name))


def cluster_operations(may: May | None) -> int:
    """None at all for who may not describe the cluster, whatever else is allowed."""
    if not permits(may, _O.DESCRIBE, AclResource.CLUSTER):
        return 0
    return authorized_operations(may, AclResource.CLUSTER, CLUSTER_NAME)

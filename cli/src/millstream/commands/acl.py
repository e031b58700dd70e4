"""`millstream acl`: list, create, delete."""

from argparse import Namespace
from collections.abc import Sequence

from millstream.commands.connection import cluster_of
from millstream.commands.output import print_json, print_table
from millstream_client import Cluster, InvalidData
from millstream_client.acls import AclFilter, create_acls, delete_acls, list_acls
from millstream_cluster.acls import CLUSTER_NAME, Acl, AclOperation, AclPattern, AclPermission, AclResource

_RESOURCES = (
    ("topic", AclResource.TOPIC),
    ("group", AclResource.GROUP),
    ("transactional_id", AclResource.TRANSACTIONAL_ID),
    ("user", AclResource.USER),
    ("token", AclResource.DELEGATION_TOKEN),
)


async def work(options: Namespace) -> None:
    async with cluster_of(options) as cluster:
        match options.action:
            case "list":
                _print(await list_acls(cluster, _filter(options)), options)
            case "create":
                acls = _wanted(options)
                await create_acls(cluster, acls)
                _print(acls, options)
            case _:
                await _delete(cluster, options)


async def _delete(cluster: Cluster, options: Namespace) -> None:
    """A filter may match more than somebody had in mind."""
    wanted = _filter(options)
    _print(await (delete_acls if options.execute else list_acls)(cluster, wanted), options)
    if not options.execute and not options.json:
        print("\nnothing was changed: --execute deletes these")


def _wanted(options: Namespace) -> list[Acl]:
    resource, name = _resource(options)
    if resource is None or name is None:
        raise InvalidData("of what? --topic, --group, --transactional-id, --user, --token or --cluster")
    pattern = AclPattern.PREFIXED if options.prefixed else AclPattern.LITERAL
    permission = AclPermission.DENY if options.deny else AclPermission.ALLOW
    return [
        Acl(resource, pattern, name, principal_text(options.principal), options.host, _operation(operation), permission)
        for operation in options.operations
    ]


def _filter(options: Namespace) -> AclFilter:
    resource, name = _resource(options)
    return AclFilter(
        resource=resource,
        name=name,
        pattern=AclPattern.PREFIXED if options.prefixed else None,
        principal=principal_text(options.principal) if options.principal is not None else None,
        host=options.host,
        operation=_operation(options.operation) if options.operation is not None else None,
        permission=AclPermission.DENY if options.deny else None,
    )


def _resource(options: Namespace) -> tuple[AclResource | None, str | None]:
    if options.cluster:
        return AclResource.CLUSTER, CLUSTER_NAME
    for option, resource in _RESOURCES:
        name = getattr(options, option)
        if name is not None:
            return resource, name
    return None, None


def principal_text(text: str) -> str:
    """A name alone is a user's."""
    return text if ":" in text else f"User:{text}"


def _operation(text: str) -> AclOperation:
    """As Kafka's tools write it, or as people do: DescribeConfigs, describe-configs."""
    wanted = text.replace("-", "").replace("_", "").lower()
    for operation in AclOperation:
        if operation.name.replace("_", "").lower() == wanted:
            return operation
    raise InvalidData(f"no operation: {text!r}; one of {', '.join(map(_written, AclOperation))}")


def _written(value: AclOperation | AclResource | AclPattern | AclPermission) -> str:
    return value.name.lower().replace("_", "-")


def _print(acls: Sequence[Acl], options: Namespace) -> None:
    rows = [
        {
            "principal": each.principal,
            "host": each.host,
            "permission": _written(each.permission),
            "operation": _written(each.operation),
            "resource": _written(each.resource),
            "pattern": _written(each.pattern),
            "name": each.name,
        }
        for each in acls
    ]
    if options.json:
        print_json(rows)
    else:
        columns = ("PRINCIPAL", "HOST", "PERMISSION", "OPERATION", "RESOURCE", "PATTERN", "NAME")
        print_table(columns, [list(row.values()) for row in rows])

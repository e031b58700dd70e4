"""What ACLs say to one question, as Kafka's StandardAuthorizer: any deny beats any allow, and nothing said means no."""

from collections.abc import Iterable

from millstream_cluster.acls import EVERYBODY, WILDCARD, AclOperation, AclPattern, AclPermission, AclResource
from millstream_security.authorization.hosts import is_from
from millstream_security.authorization.rules import RuleBook

_O = AclOperation
_IMPLIED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    _O.DESCRIBE: frozenset({_O.READ, _O.WRITE, _O.DELETE, _O.ALTER}),
    _O.DESCRIBE_CONFIGS: frozenset({_O.ALTER_CONFIGS}),
}
"""Only of what is allowed: who is denied reading may still describe."""
ALLOWED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    operation: frozenset({operation, _O.ALL}) | _IMPLIED_BY.get(operation, frozenset()) for operation in AclOperation
}


def decide(
    book: RuleBook,
    principal: str,
    host: str,
    operation: AclOperation,
    resource: AclResource,
    name: str,
    *,
    otherwise: bool = False,
) -> bool:
    """`otherwise` is the answer where the resource has no ACL at all, of anybody."""
    allowing = ALLOWED_BY[operation]
    allowed = False
    for acl in book.of(_names(principal), resource, name):
        if acl.permission is AclPermission.DENY:
            if acl.operation in (operation, _O.ALL) and is_from(host, acl.host):
                return False
        elif not allowed and acl.operation in allowing and is_from(host, acl.host):
            allowed = True
    return allowed or (otherwise and not book.has_any(resource, name))


def decide_any(book: RuleBook, principal: str, host: str, operation: AclOperation, resource: AclResource) -> bool:
    """Whether there may be a resource of this type on which this is allowed, existing or not.

    An allow counts unless a deny covers all of it: its own name, a prefix of its name, or every name.
    """
    allowed: set[tuple[AclPattern, str]] = set()
    denied: set[tuple[AclPattern, str]] = set()
    for acl in book.of_type(_names(principal), resource):
        if acl.operation in (operation, _O.ALL) and is_from(host, acl.host):
            (denied if acl.permission is AclPermission.DENY else allowed).add((acl.pattern, acl.name))
    if (AclPattern.LITERAL, WILDCARD) in denied:
        return False
    return any(not _is_covered(pattern, name, denied) for pattern, name in allowed)


def _is_covered(pattern: AclPattern, name: str, denied: Iterable[tuple[AclPattern, str]]) -> bool:
    if pattern is AclPattern.LITERAL and name == WILDCARD:
        return False
    return any(
        name.startswith(other) if kind is AclPattern.PREFIXED else (kind, other) == (pattern, name)
        for kind, other in denied
    )


def _names(principal: str) -> tuple[str, ...]:
    return (principal,) if principal == EVERYBODY else (principal, EVERYBODY)

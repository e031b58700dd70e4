"""Whose resources a Cluster serves, and which of two resources for one thing has it. Pure.

A resource of another namespace is served only where the Cluster names that namespace: who may write Topics in a
namespace of theirs must not thereby reach the topics of everybody else's cluster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]
EVERY_NAMESPACE = "*"


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """A resource that names something in a cluster; the oldest one has it."""

    created_at: str
    uid: str
    resource: str = field(compare=False)


def cluster_key(body: Body) -> tuple[str, str]:
    """Namespace and name of the Cluster that a resource belongs to."""
    reference = body["spec"]["clusterRef"]
    return reference.get("namespace") or body["metadata"]["namespace"], reference["name"]


def serves(cluster: Body, namespace: str) -> bool:
    """Whether this Cluster takes resources of a namespace."""
    allowed = cluster["spec"].get("allowedNamespaces") or ()
    return namespace == cluster["metadata"]["namespace"] or namespace in allowed or EVERY_NAMESPACE in allowed


def elder(body: Body, siblings: Sequence[Body], cluster: Body, name_of: Callable[[Body], str]) -> str | None:
    """The resource that declared the same name in the same cluster before this one, as `namespace/name`.

    Those that the Cluster does not serve have no claim, however old they are.
    """
    name, key = name_of(body), cluster_key(body)
    claims = [
        _claim(other)
        for other in siblings
        if cluster_key(other) == key and name_of(other) == name and serves(cluster, other["metadata"]["namespace"])
    ]
    first = owner(claims)
    return None if first is None or first.uid == body["metadata"]["uid"] else first.resource


class Namesakes:
    """Resources by what they declare, so that a thousand of them are not each compared with all others."""

    def __init__(self, siblings: Sequence[Body], name_of: Callable[[Body], str]) -> None:
        self.siblings = siblings
        self._name_of = name_of
        self._by_name: dict[tuple[tuple[str, str], str], list[Body]] = {}
        for body in siblings:
            self._by_name.setdefault((cluster_key(body), name_of(body)), []).append(body)

    def of(self, body: Body) -> Sequence[Body]:
        return self._by_name.get((cluster_key(body), self._name_of(body)), ())


def owner(claims: Sequence[Claim]) -> Claim | None:
    return min(claims, default=None)


def _claim(body: Body) -> Claim:
    metadata = body["metadata"]
    return Claim(metadata["creationTimestamp"], metadata["uid"], f"{metadata['namespace']}/{metadata['name']}")

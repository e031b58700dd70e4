"""What the reconcilers share: one turn at a time per resource, the cluster a resource refers to, and its status.

A status is written only when it changed: every write wakes every watcher.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from millstream_operator.certificates.authority import BadAuthority
from millstream_operator.kafka.cluster import Address, ClusterUnreachable, KafkaCluster, Refused
from millstream_operator.kube import events
from millstream_operator.kube.events import Event
from millstream_operator.kube.objects import KubernetesError, Objects
from millstream_operator.plan.conditions import Condition, merge, turned
from millstream_operator.plan.scope import Body, cluster_key, serves
from millstream_operator.reconcile.certificates import Certificates
from millstream_operator.reconcile.connections import Connections
from millstream_runtime.world import World

API_VERSION = "millstream.dev/v1alpha1"
READ_AGAIN_MS = 12_000
"""How old a Cluster may be for those that refer to it: older than from one look at it to the next."""


class ClusterMissing(Exception):
    """The Cluster that a resource refers to is not there (any more)."""


class NamespaceNotAllowed(Exception):
    """The resource is of a namespace that the Cluster does not serve, or there is no such Cluster: it is not told which."""


class Conflict(Exception):
    """An older resource declares the same thing, or somebody else has made it."""


class SecurityDisabled(Exception):
    """There are no users where everybody may do everything."""


class ClustersRead:
    """Cluster resources as whoever looks at them has seen them last: a thousand Topics refer to the same one. It asks itself only where nobody has for a while."""

    def __init__(self, world: World, objects: Objects) -> None:
        self._world = world
        self._objects = objects
        self._read: dict[tuple[str, str], tuple[int, Body | None]] = {}
        self._turn = asyncio.Lock()

    async def get(self, namespace: str, name: str) -> Body | None:
        """Raises KubernetesError."""
        async with self._turn:
            now_ms = self._world.monotonic_ms()
            self._read = {key: read for key, read in self._read.items() if now_ms - read[0] < READ_AGAIN_MS}
            found = self._read.get((namespace, name))
            if found is None:
                found = now_ms, await self._objects.get(API_VERSION, "Cluster", namespace, name)
                self._read[namespace, name] = found
            return found[1]

    def saw(self, clusters: Iterable[Body]) -> None:
        now_ms = self._world.monotonic_ms()
        for body in clusters:
            self._read[body["metadata"]["namespace"], body["metadata"]["name"]] = now_ms, body

    def forget(self, cluster: Body) -> None:
        self._read.pop((cluster["metadata"]["namespace"], cluster["metadata"]["name"]), None)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reconciler works with."""

    world: World
    objects: Objects
    clusters: ClustersRead
    namespaces: tuple[str, ...]
    """Where resources are looked after; whatever is elsewhere is not there."""
    operator_namespace: str
    certificates: Certificates
    connections: Connections

    async def every(self, kind: str) -> list[Body]:
        """All resources of a kind, of all namespaces that are looked after."""
        return [body for namespace in self.namespaces for body in await self.objects.list(API_VERSION, kind, namespace)]


class Turns:
    """A lock per resource; it lives as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, body: Body) -> asyncio.Lock:
        uid: str = body["metadata"]["uid"]
        lock = self._locks.get(uid)
        if lock is None:
            lock = self._locks[uid] = asyncio.Lock()
        return lock


async def cluster_of(around: Surroundings, body: Body) -> Body:
    """The Cluster that a resource refers to, if it serves the resource's namespace."""
    namespace, name = cluster_key(body)
    own = body["metadata"]["namespace"]
    found = None
    if namespace in around.namespaces:
        found = await around.clusters.get(namespace, name)
    if found is not None and serves(found, own):
        return found
    if namespace == own:
        raise ClusterMissing(f"no Cluster {name} in namespace {namespace}")
    raise NamespaceNotAllowed(
        f"no Cluster {name} in namespace {namespace} that names {own} in spec.allowedNamespaces: nothing is done"
    )


async def kafka_of(around: Surroundings, cluster: Body) -> KafkaCluster:
    bootstrap = (cluster.get("status") or {}).get("bootstrap")
    if not bootstrap:
        raise ClusterMissing(f"{cluster['metadata']['name']} is starting")
    return await around.connections.to(cluster, parse_bootstrap(bootstrap))


EXPECTED = (ClusterMissing, NamespaceNotAllowed, Conflict, SecurityDisabled, ClusterUnreachable, Refused, BadAuthority)
"""What a look at a resource may meet: the condition says it, and the next look may find it gone."""


def condition_of(error: Exception) -> Condition:
    match error:
        case ClusterUnreachable():
            return Condition("Ready", None, "ClusterUnreachable", str(error))
        case Refused():
            return Condition("Ready", None if error.code.retriable else False, error.reason, str(error))
        case _:
            return Condition("Ready", False, type(error).__name__, str(error))


def parse_bootstrap(bootstrap: str) -> Address:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


async def write_status(
    around: Surroundings, kind: str, body: Body, fields: Mapping[str, Any], *conditions: Condition
) -> Body:
    """Merge fields and the conditions into the status, if that changes it, and tell what changed as Events.

    The resource as it is then; one that is gone meanwhile, as it would be.
    """
    metadata = body["metadata"]
    current = dict(body.get("status") or {})
    generation = metadata.get("generation", 0)
    before = current.get("conditions") or ()
    merged = merge(before, conditions, generation, around.world.now_ms())
    wanted = {**fields, "conditions": merged, "observedGeneration": generation}
    changed = {key: value for key, value in wanted.items() if current.get(key) != value}
    if not changed:
        return body
    # A merge patch would keep the keys of a map that are gone, so a map that shrank is written with nulls for those.
    patch = {key: _replacing(current.get(key), value) for key, value in changed.items()}
    try:
        body = await around.objects.merge_patch(
            API_VERSION, kind, metadata["namespace"], metadata["name"], {"status": patch}, subresource="status"
        )
        for condition in turned(before, conditions):
            await tell(around, kind, body, Event(condition.reason, condition.message, condition.is_bad))
    except KubernetesError as error:
        if not error.not_found:
            raise
        return {**body, "status": {**current, **wanted}}
    return body


async def tell(around: Surroundings, kind: str, body: Body, event: Event) -> None:
    await events.tell(around.objects, kind, body, event, around.world.now_ms())


async def note_status(around: Surroundings, kind: str, body: Body, fields: Mapping[str, Any]) -> Body:
    """Write fields before they come true; the resource as it is then."""
    metadata = body["metadata"]
    return await around.objects.merge_patch(
        API_VERSION, kind, metadata["namespace"], metadata["name"], {"status": dict(fields)}, subresource="status"
    )


async def note_first(around: Surroundings, kind: str, body: Body, fields: Mapping[str, Any]) -> Body | None:
    """As `note_status`, unless somebody has written the resource since `body` was read: None then."""
    metadata = body["metadata"]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": dict(fields)}
    try:
        return await around.objects.merge_patch(
            API_VERSION, kind, metadata["namespace"], metadata["name"], patch, subresource="status"
        )
    except KubernetesError as error:
        if error.conflict:
            return None
        raise


def _replacing(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**{key: None for key in old if key not in new}, **new}
    return new

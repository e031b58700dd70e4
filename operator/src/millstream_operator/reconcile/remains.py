"""What resources leave behind is kept as long as they are there, and taken away once they are gone.

No resource waits for that with a finalizer: it would hang for ever where the operator, its rights or the Cluster go first. One that
went while nobody watched is missed by comparing what is kept with what is there.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from millstream_operator.kube.objects import KubernetesError
from millstream_operator.plan.remains import (
    KIND,
    Remains,
    leaves_something,
    manifest_of,
    name_of,
    read,
    remains_of,
)
from millstream_operator.plan.scope import Body, cluster_key
from millstream_operator.reconcile.resource import (
    API_VERSION,
    EXPECTED,
    ClusterMissing,
    NamespaceNotAllowed,
    Surroundings,
    Turns,
    cluster_of,
)
from millstream_operator.resources.identity import ClusterIdentity

logger = logging.getLogger(__name__)

READ_AGAIN_MS = 60_000
"""How old what is known of other operators' doings may be."""

Delete = Callable[[Body], Awaitable[None]]
NameOf = Callable[[Body], str]
Name = tuple[str, tuple[str, str], str]
"""Kind, Cluster, and what a resource is called in there."""


class KeptRemains:
    def __init__(self, around: Surroundings, kinds: Mapping[str, tuple[NameOf, Delete]]) -> None:
        self._around = around
        self._kinds = kinds
        self._known: dict[str, Remains] = {}
        """By the resource's uid."""
        self._by_name: defaultdict[Name, set[str]] = defaultdict(set)
        self._read_ms: int | None = None
        self._reading = asyncio.Lock()
        self._turns = Turns()

    async def keep(self, kind: str, body: Body) -> None:
        """What this resource, which is there, would leave. Raises KubernetesError."""
        if kind not in self._kinds:
            return
        if leaves_something(kind, body):
            await self._keep(kind, body)
            return
        known, metadata = self._known.get(body["metadata"]["uid"]), body["metadata"]
        if known is not None:
            # As it is now: it may have been read before another look at it made something.
            current = await self._around.objects.get(API_VERSION, kind, metadata["namespace"], metadata["name"])
            if current is not None and not leaves_something(kind, current):
                await self._forget(known)

    async def _keep(self, kind: str, body: Body) -> None:
        cluster = await self._cluster_of(body)
        if cluster is None:
            return
        remains = remains_of(kind, body, cluster)
        if remains != self._known.get(remains.uid):
            await self._around.objects.apply(manifest_of(remains, cluster))
            self._know(remains)

    async def left(self, kind: str, body: Body) -> None:
        """The resource was seen to go, and this is how it was at the end. Raises KubernetesError and what is EXPECTED."""
        if kind not in self._kinds:
            return
        known, cluster = self._known.get(body["metadata"]["uid"]), await self._cluster_of(body)
        if cluster is not None and leaves_something(kind, body):
            known = remains_of(kind, body, cluster)
            self._know(known)
            await self._take_away(known)
        elif known is not None:
            await self._forget(known)

    async def _cluster_of(self, body: Body) -> ClusterIdentity | None:
        """None where it has none, or none that serves it: there is nothing to take away then."""
        try:
            return ClusterIdentity.of(await cluster_of(self._around, body))
        except (ClusterMissing, NamespaceNotAllowed):
            return None

    async def look(self, kind: str, bodies: Sequence[Body]) -> None:
        """`bodies`: those that are there, of all namespaces that are looked after."""
        if kind not in self._kinds:
            return
        await self._read()
        there = {body["metadata"]["uid"] for body in bodies}
        for remains in [each for uid, each in self._known.items() if each.kind == kind and uid not in there]:
            if remains.namespace in self._around.namespaces:
                await self._take_away_if_gone(remains)

    async def first(self, kind: str, body: Body, siblings: Sequence[Body]) -> str | None:
        """Whoever left takes its own along before this one, of the same name, is looked at; else why it could not."""
        if kind not in self._kinds:
            return None
        await self._read()
        found = self._by_name.get(self._name(kind, body), set()) - {body["metadata"]["uid"]}
        if not found:
            return None
        for uid in found - {each["metadata"]["uid"] for each in siblings}:
            remains = self._known.get(uid)
            if remains is not None and remains.namespace in self._around.namespaces:
                trouble = await self._take_away_if_gone(remains)
                if trouble is not None:
                    resource = f"{remains.namespace}/{remains.name}"
                    return f"what {resource} made before it was deleted is still to be deleted: {trouble}"
        return None

    async def _read(self) -> None:
        async with self._reading:
            now_ms = self._around.world.monotonic_ms()
            if self._read_ms is not None and now_ms - self._read_ms < READ_AGAIN_MS:
                return
            found = [read(each) for each in await self._around.every(KIND)]
            self._known.clear()
            self._by_name.clear()
            for remains in found:
                if remains is not None:
                    self._know(remains)
            self._read_ms = now_ms

    async def _take_away_if_gone(self, remains: Remains) -> str | None:
        """Why something of it is left. Nothing is deleted on the word of a list that may be incomplete."""
        objects = self._around.objects
        try:
            if not await objects.is_gone(API_VERSION, remains.kind, remains.namespace, remains.name, remains.uid):
                return "it is there"
            await self._take_away(remains)
        except (KubernetesError, *EXPECTED) as error:
            logger.warning("not deleted yet kind=%s name=%s error=%s", remains.kind, remains.name, error)
            return str(error)
        return None

    async def _take_away(self, remains: Remains) -> None:
        """Raises KubernetesError and what is EXPECTED; what is kept stays then, and the next look tries again."""
        async with self._turns.of(remains.body):
            if remains.uid not in self._known:
                return
            _, delete = self._kinds[remains.kind]
            namespace, name = cluster_key(remains.body)
            cluster = await self._around.clusters.get(namespace, name)
            # Of a Cluster of the same name that is gone: its data was never this one's.
            if cluster is not None and cluster["metadata"]["uid"] == remains.cluster_uid:
                await delete(remains.body)
            await self._forget(remains)

    async def _forget(self, remains: Remains) -> None:
        namespace, name = cluster_key(remains.body)
        await self._around.objects.delete(API_VERSION, KIND, namespace, name_of(name, remains.uid), "Background")
        self._known.pop(remains.uid, None)
        named = self._name(remains.kind, remains.body)
        self._by_name[named].discard(remains.uid)
        if not self._by_name[named]:
            del self._by_name[named]

    def _know(self, remains: Remains) -> None:
        self._known[remains.uid] = remains
        self._by_name[self._name(remains.kind, remains.body)].add(remains.uid)

    def _name(self, kind: str, body: Body) -> Name:
        named, _ = self._kinds[kind]
        return kind, cluster_key(body), named(body)

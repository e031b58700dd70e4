"""What the reconcilers share: one turn at a time per resource, the cluster a resource refers to, and its status.

A status is written only when it changed: every write wakes every watcher.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from millstream_operator.kafka.cluster import Address, KafkaCluster, connect
from millstream_operator.kube.objects import KubernetesError, Objects
from millstream_operator.plan.conditions import Condition, merge
from millstream_runtime.world import World

API_VERSION = "millstream.dev/v1alpha1"

Body = Mapping[str, Any]


class ClusterMissing(Exception):
    """The Cluster that a resource refers to is not there (any more)."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reconciler works with."""

    world: World
    objects: Objects


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


def cluster_key(body: Body) -> tuple[str, str]:
    """Namespace and name of the Cluster that a Topic or ConsumerGroup belongs to."""
    reference = body["spec"]["clusterRef"]
    return reference.get("namespace") or body["metadata"]["namespace"], reference["name"]


@asynccontextmanager
async def kafka_of(around: Surroundings, body: Body) -> AsyncIterator[KafkaCluster]:
    namespace, name = cluster_key(body)
    found = await around.objects.get(API_VERSION, "Cluster", namespace, name)
    bootstrap = ((found or {}).get("status") or {}).get("bootstrap")
    if found is None or not bootstrap:
        raise ClusterMissing(f"no Cluster {name} in namespace {namespace}" if found is None else f"{name} is starting")
    async with connect(around.world, parse_bootstrap(bootstrap)) as kafka:
        yield kafka


def parse_bootstrap(bootstrap: str) -> Address:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


async def write_status(
    around: Surroundings, kind: str, body: Body, fields: Mapping[str, Any], condition: Condition
) -> None:
    """Merge fields and the condition into the status, if that changes it; a resource that is gone needs none."""
    metadata = body["metadata"]
    current = dict(body.get("status") or {})
    generation = metadata.get("generation", 0)
    conditions = merge(current.get("conditions") or (), [condition], generation, around.world.now_ms())
    wanted = {**fields, "conditions": conditions, "observedGeneration": generation}
    changed = {key: value for key, value in wanted.items() if current.get(key) != value}
    if not changed:
        return
    # A merge patch would keep the keys of a map that are gone, so a map that shrank is written with nulls for those.
    patch = {key: _replacing(current.get(key), value) for key, value in changed.items()}
    try:
        await around.objects.merge_patch(
            API_VERSION, kind, metadata["namespace"], metadata["name"], {"status": patch}, subresource="status"
        )
    except KubernetesError as error:
        if not error.not_found:
            raise


def _replacing(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**{key: None for key in old if key not in new}, **new}
    return new

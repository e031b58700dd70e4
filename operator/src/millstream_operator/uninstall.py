"""What `helm uninstall` runs first, so that nothing hangs and nothing stays behind that should not.

The operator stops, Topics, ConsumerGroups and Users of release 0.1.0 lose their finalizers (their data stays or goes with the volumes), the
Cluster and its pods end, and where the volumes go too, so does the metadata log. A pod of a node that is gone never ends, and is not waited for.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from millstream_operator.kube.finalizer import is_held, let_go
from millstream_operator.kube.objects import Objects, connect
from millstream_operator.plan.scope import cluster_key
from millstream_operator.reconcile.resource import API_VERSION
from millstream_operator.resources.identity import CLUSTER_LABEL

LOST_AFTER_S = 5
"""A pod that is still there so long after its time to leave is on a node that is gone."""
WAIT_S_MAX = 150


async def uninstall(namespace: str, cluster: str, operator: str, instance: str) -> None:
    async with connect() as objects:
        await objects.delete("apps/v1", "Deployment", namespace, operator, "Background")
        await _pods_end(
            objects, namespace, f"app.kubernetes.io/name=millstream-operator,app.kubernetes.io/instance={instance}"
        )
        for kind in ("Topic", "ConsumerGroup", "User"):
            for body in await objects.list(API_VERSION, kind, namespace):
                if cluster_key(body) == (namespace, cluster) and is_held(body):
                    await let_go(objects, API_VERSION, kind, body)
        found = await objects.get(API_VERSION, "Cluster", namespace, cluster)
        await objects.delete(API_VERSION, "Cluster", namespace, cluster, "Background")
        await _pods_end(objects, namespace, f"{CLUSTER_LABEL}={cluster}")
        if found is not None and found["spec"]["brokers"]["storage"].get("whenDeleted") == "Delete":
            for slot in await objects.list(API_VERSION, "MetadataSlot", namespace, f"{CLUSTER_LABEL}={cluster}"):
                name = slot["metadata"]["name"]
                await objects.delete(API_VERSION, "MetadataSlot", namespace, name, "Background")


async def _pods_end(objects: Objects, namespace: str, labels: str) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while pods := await objects.list("v1", "Pod", namespace, labels):
            if all(is_lost(pod, datetime.now(UTC)) for pod in pods):
                print(f"not waited for: {', '.join(pod['metadata']['name'] for pod in pods)}", flush=True)
                return
            await asyncio.sleep(0.5)


def is_lost(pod: Mapping[str, Any], now: datetime) -> bool:
    """`deletionTimestamp` is when its grace is over, not when it was asked to leave."""
    until = pod["metadata"].get("deletionTimestamp")
    return until is not None and (now - datetime.fromisoformat(until)).total_seconds() > LOST_AFTER_S


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--operator", required=True)
    parser.add_argument("--instance", required=True)
    arguments = parser.parse_args()
    asyncio.run(uninstall(arguments.namespace, arguments.cluster, arguments.operator, arguments.instance))
    print(f"cluster {arguments.cluster} ended", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What `helm uninstall` runs first, so that nothing hangs and nothing stays behind that should not.

The operator stops, Topics, ConsumerGroups and Users let go of their finalizers (their data stays or goes with the volumes), the
Cluster and its pods end, and where the volumes go too, so does the metadata log.
"""

import argparse
import asyncio
import sys

from millstream_operator.kube.objects import Objects, connect
from millstream_operator.plan.scope import cluster_key
from millstream_operator.reconcile.resource import API_VERSION

FINALIZER = "millstream.dev/data"
WAIT_S_MAX = 150


async def uninstall(namespace: str, cluster: str, operator: str) -> None:
    async with connect() as objects:
        await objects.delete("apps/v1", "Deployment", namespace, operator, "Foreground")
        await _gone(objects, "apps/v1", "Deployment", namespace, operator)
        for kind in ("Topic", "ConsumerGroup", "User"):
            for body in await objects.list(API_VERSION, kind, namespace):
                if cluster_key(body) == (namespace, cluster):
                    await _let_go(objects, kind, body["metadata"])
        found = await objects.get(API_VERSION, "Cluster", namespace, cluster)
        await objects.delete(API_VERSION, "Cluster", namespace, cluster, "Foreground")
        await _gone(objects, API_VERSION, "Cluster", namespace, cluster)
        if found is not None and found["spec"]["brokers"]["storage"].get("whenDeleted") == "Delete":
            for slot in await objects.list(API_VERSION, "MetadataSlot", namespace, f"millstream.dev/cluster={cluster}"):
                name = slot["metadata"]["name"]
                await objects.delete(API_VERSION, "MetadataSlot", namespace, name, "Background")


async def _let_go(objects: Objects, kind: str, metadata: dict[str, str]) -> None:
    finalizers = [f for f in metadata.get("finalizers", ()) if f != FINALIZER]
    if len(finalizers) != len(metadata.get("finalizers", ())):
        patch = {"metadata": {"finalizers": finalizers}}
        await objects.merge_patch(API_VERSION, kind, metadata["namespace"], metadata["name"], patch)


async def _gone(objects: Objects, api_version: str, kind: str, namespace: str, name: str) -> None:
    async with asyncio.timeout(WAIT_S_MAX):
        while await objects.get(api_version, kind, namespace, name) is not None:  # noqa: ASYNC110 (a watch for one deletion is not worth it)
            await asyncio.sleep(0.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--operator", required=True)
    arguments = parser.parse_args()
    asyncio.run(uninstall(arguments.namespace, arguments.cluster, arguments.operator))
    print(f"cluster {arguments.cluster} ended", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

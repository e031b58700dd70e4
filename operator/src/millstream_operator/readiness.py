"""`helm test`: the Cluster becomes Ready, and somebody takes connections where clients begin."""

import argparse
import asyncio
import sys
from typing import Any

from millstream_operator.kube.objects import Objects, connect
from millstream_operator.reconcile.resource import API_VERSION, parse_bootstrap

WAIT_S = 120
LOOK_S = 1


async def wait_until_ready(namespace: str, cluster: str) -> str:
    """What is to be told. Raises TimeoutError."""
    async with connect() as objects, asyncio.timeout(WAIT_S):
        status = await _ready(objects, namespace, cluster)
        host, port = parse_bootstrap(status["bootstrap"])
        while True:
            try:
                _, writer = await asyncio.open_connection(host, port)
            except OSError as error:
                print(f"{host}:{port}: {error}", flush=True)
                await asyncio.sleep(LOOK_S)
            else:
                writer.close()
                await writer.wait_closed()
                return f"cluster {cluster} is Ready, {host}:{port} takes connections, {status['partitions']['total']} partitions"


async def _ready(objects: Objects, namespace: str, cluster: str) -> dict[str, Any]:
    told = ""
    while True:
        found = await objects.get(API_VERSION, "Cluster", namespace, cluster) or {}
        status: dict[str, Any] = found.get("status") or {}
        ready = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), None)
        if ready is not None and ready["status"] == "True":
            return status
        reason = "there is none yet" if ready is None else f"{ready['reason']}: {ready['message']}"
        if reason != told:
            print(f"cluster {cluster}: {reason}", flush=True)
            told = reason
        await asyncio.sleep(LOOK_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--cluster", required=True)
    arguments = parser.parse_args()
    try:
        print(asyncio.run(wait_until_ready(arguments.namespace, arguments.cluster)), flush=True)
    except TimeoutError:
        print(f"not within {WAIT_S} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

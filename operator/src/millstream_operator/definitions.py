"""Before an upgrade of the release: bring the definitions of the resources up to date, which Helm only installs and never changes.

`python -m millstream_operator.definitions --namespace N --config-map NAME`: those that the ConfigMap has. None is ever deleted.
"""

import argparse
import asyncio
import json
import sys

from millstream_operator.kube.objects import FIELD_MANAGER, connect

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def upgrade(namespace: str, config_map: str) -> list[str]:
    """The names of those that are there now."""
    async with connect() as objects:
        found = await objects.call("GET", f"/api/v1/namespaces/{namespace}/configmaps/{config_map}")
        definitions = [json.loads(text) for _, text in sorted(found["data"].items())]
        for definition in definitions:
            query = [("fieldManager", FIELD_MANAGER), ("force", "true")]
            path = f"{PATH}/{definition['metadata']['name']}"
            await objects.call("PATCH", path, query, definition, content_type="application/apply-patch+yaml")
        return [definition["metadata"]["name"] for definition in definitions]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--config-map", required=True)
    arguments = parser.parse_args()
    for name in asyncio.run(upgrade(arguments.namespace, arguments.config_map)):
        print(f"definition up to date name={name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

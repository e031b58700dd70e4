"""The finalizer of release 0.1.0, which nothing carries any more: it is taken off wherever it is found."""

from collections.abc import Mapping
from typing import Any

from millstream_operator.kube.objects import KubernetesError, Objects

FINALIZER = "millstream.dev/data"


def is_held(body: Mapping[str, Any]) -> bool:
    return FINALIZER in (body["metadata"].get("finalizers") or ())


async def let_go(objects: Objects, api_version: str, kind: str, body: Mapping[str, Any]) -> None:
    metadata = body["metadata"]
    patch = {"metadata": {"finalizers": [each for each in metadata["finalizers"] if each != FINALIZER]}}
    try:
        await objects.merge_patch(api_version, kind, metadata["namespace"], metadata["name"], patch)
    except KubernetesError as error:
        if not error.not_found:
            raise

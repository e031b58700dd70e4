"""The brokers' volume claims in the API server. Only here can one be deleted: `Objects` does not know the kind."""

from typing import Any

from millstream_operator.kube.objects import Objects
from millstream_operator.plan.claims import Claim

PATH = "/api/v1/namespaces/{}/persistentvolumeclaims"


async def list_claims(objects: Objects, namespace: str, labels: str) -> list[dict[str, Any]]:
    found = await objects.call("GET", PATH.format(namespace), [("labelSelector", labels)])
    items: list[dict[str, Any]] = found["items"]
    return items


async def grow(objects: Objects, namespace: str, claim: Claim, size: str) -> None:
    """Raises KubernetesError where its class does not let it grow."""
    patch = {"spec": {"resources": {"requests": {"storage": size}}}}
    path = f"{PATH.format(namespace)}/{claim.name}"
    await objects.call("PATCH", path, [], patch, content_type="application/merge-patch+json")


async def release(objects: Objects, namespace: str, claim: Claim) -> None:
    """Delete this very claim (`plan/claims.py` says whether it may be). Raises KubernetesError, 409 if it is another one by now."""
    body = {"preconditions": {"uid": claim.uid}}
    await objects.call("DELETE", f"{PATH.format(namespace)}/{claim.name}", [("propagationPolicy", "Background")], body)

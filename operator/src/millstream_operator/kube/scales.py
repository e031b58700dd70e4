"""The scale subresource of workloads, and how their pods are numbered: all that the operator reads and writes of consumers that are not its own."""

from dataclasses import dataclass

from millstream_operator.kube.objects import PLURALS, KubernetesError, Objects


@dataclass(frozen=True, slots=True)
class Scale:
    wanted: int
    there: int
    """Pods that there are, as the workload's controller has last seen it."""
    selector: str


async def scale_of(objects: Objects, kind: str, namespace: str, name: str) -> Scale | None:
    """None if there is no such workload."""
    try:
        found = await objects.call("GET", _path(kind, namespace, name))
    except KubernetesError as error:
        if error.not_found:
            return None
        raise
    status = found.get("status") or {}
    return Scale(found["spec"].get("replicas", 0), status.get("replicas", 0), status.get("selector", ""))


async def scale(objects: Objects, kind: str, namespace: str, name: str, replicas: int) -> None:
    patch = {"spec": {"replicas": replicas}}
    await objects.call("PATCH", _path(kind, namespace, name), [], patch, content_type="application/merge-patch+json")


async def first_ordinal(objects: Objects, namespace: str, name: str) -> int:
    """Of a StatefulSet's pods."""
    query = [("fieldSelector", f"metadata.name={name}")]
    found = await objects.call("GET", f"/apis/apps/v1/namespaces/{namespace}/{PLURALS['StatefulSet']}", query)
    return max(((each["spec"].get("ordinals") or {}).get("start", 0) for each in found["items"]), default=0)


def _path(kind: str, namespace: str, name: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/{PLURALS[kind]}/{name}/scale"

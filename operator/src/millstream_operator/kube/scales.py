"""The scale subresource of workloads: all that the operator reads and writes of consumers that are not its own."""

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


def _path(kind: str, namespace: str, name: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/{PLURALS[kind]}/{name}/scale"

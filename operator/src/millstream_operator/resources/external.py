"""A way in from outside the Kubernetes cluster: a Service for each pod that clients talk to, and one to begin with."""

from collections.abc import Mapping
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import ClusterIdentity, Manifest
from millstream_operator.resources.listeners import EXTERNAL_PORT, external

ROLES = (Role.BROKER, Role.COORDINATOR)


def external_services(
    cluster: ClusterIdentity, spec: Mapping[str, Any], replicas: Mapping[Role, int]
) -> list[Manifest]:
    """Clients are sent to POD.DOMAIN: whoever keeps the domain's names points each at its Service."""
    outside = external(spec)
    if outside is None:
        return []
    found = [_service(cluster, outside, Role.BROKER, f"{cluster.bootstrap_service}-external", None)]
    for role in ROLES:
        for ordinal in range(replicas[role]):
            pod = f"{cluster.service(role)}-{ordinal}"
            found.append(_service(cluster, outside, role, f"{pod}-external", pod))
    return found


def _service(cluster: ClusterIdentity, outside: Mapping[str, Any], role: Role, name: str, pod: str | None) -> Manifest:
    metadata = cluster.metadata(name, role)
    host = f"{pod}.{outside['domain']}" if pod is not None else outside["domain"]
    metadata["annotations"] = {"millstream.dev/host": host} | {
        key: value.replace("{host}", host) for key, value in (outside.get("annotations") or {}).items()
    }
    selector = cluster.labels(role)
    if pod is not None:
        selector = selector | {"statefulset.kubernetes.io/pod-name": pod}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": outside.get("type", "LoadBalancer"),
            "selector": selector,
            "ports": [{"name": "external", "port": EXTERNAL_PORT, "targetPort": "external"}],
        },
    }

"""Who may open a connection to a cluster's pods, and to whom controllers and coordinators may.

Clients reach brokers and coordinators at their ports; controllers are for the cluster's own pods. Prometheus reaches
/metrics from wherever it is. What is enforced is up to the network plugin of the Kubernetes cluster: credentials do not rest on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import HTTP_PORT, KAFKA_PORTS, ClusterIdentity, Manifest

DNS_PORT = 53
API_SERVER_PORTS = (443, 6443)
OPERATOR_LABELS = {"app.kubernetes.io/name": "millstream-operator"}


def network_policies(cluster: ClusterIdentity, spec: Mapping[str, Any], operator_namespace: str) -> list[Manifest]:
    asked = spec.get("networkPolicy") or {}
    if not asked.get("enabled", True):
        return []
    more: list[Manifest] = list(asked.get("egress") or ())
    return [
        _policy(cluster, role, _ingress(cluster, role, operator_namespace), _egress(cluster, role, more))
        for role in Role
    ]


def _policy(
    cluster: ClusterIdentity, role: Role, ingress: Sequence[Manifest], egress: Sequence[Manifest] | None
) -> Manifest:
    spec: Manifest = {
        "podSelector": {"matchLabels": cluster.labels(role)},
        "policyTypes": ["Ingress"] if egress is None else ["Ingress", "Egress"],
        "ingress": list(ingress),
    }
    if egress is not None:
        spec["egress"] = list(egress)
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": cluster.metadata(cluster.service(role), role),
        "spec": spec,
    }


def _ingress(cluster: ClusterIdentity, role: Role, operator_namespace: str) -> list[Manifest]:
    kafka: Manifest = {"ports": _tcp(KAFKA_PORTS[role])}
    if role is Role.CONTROLLER:
        kafka["from"] = [_own_pods(cluster)]
    return [kafka, {"ports": _tcp(HTTP_PORT)}]


def _egress(cluster: ClusterIdentity, role: Role, more: Sequence[Manifest]) -> list[Manifest] | None:
    """To whom the role may talk; None for whomever it wants, as brokers may."""
    if role is Role.BROKER:
        return None
    names = {"ports": [{"protocol": protocol, "port": DNS_PORT} for protocol in ("UDP", "TCP")]}
    allowed: list[Manifest] = [{"to": [_own_pods(cluster)]}, names, *more]
    if role is Role.CONTROLLER:
        # The address of the API server is not known to a policy, and mostly not a pod's.
        allowed.append({"ports": _tcp(*API_SERVER_PORTS)})
    return allowed


def _own_pods(cluster: ClusterIdentity) -> Manifest:
    return {"podSelector": {"matchLabels": cluster.labels()}}


def _operator(namespace: str) -> Manifest:
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "podSelector": {"matchLabels": OPERATOR_LABELS},
    }


def _tcp(*ports: int) -> list[Manifest]:
    return [{"protocol": "TCP", "port": port} for port in ports]

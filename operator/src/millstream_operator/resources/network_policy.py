"""Who may open a connection to a cluster's pods, and to whom controllers and coordinators may.

Clients reach brokers and coordinators at their ports; controllers and the nodes' own listeners are for the cluster's pods, the latter
for the operator too. Prometheus reaches
/metrics from wherever it is. What is enforced is up to the network plugin of the Kubernetes cluster: credentials do not rest on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import HTTP_PORT, ClusterIdentity, Manifest
from millstream_operator.resources.listeners import listeners

DNS_PORT = 53
API_SERVER_PORTS = (443, 6443)
OPERATOR_LABELS = {"app.kubernetes.io/name": "millstream-operator"}


def network_policies(cluster: ClusterIdentity, spec: Mapping[str, Any], operator_namespace: str) -> list[Manifest]:
    asked = spec.get("networkPolicy") or {}
    if not asked.get("enabled", True):
        return []
    more: list[Manifest] = list(asked.get("egress") or ())
    return [
        _policy(cluster, role, _ingress(cluster, spec, role, operator_namespace), _egress(cluster, role, more))
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


def _ingress(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role, operator_namespace: str) -> list[Manifest]:
    found = listeners(spec, role)
    rules: list[Manifest] = [{"ports": _tcp(HTTP_PORT)}]
    open_ports = [each.port for each in found if not each.is_for_nodes]
    if open_ports:
        rules.append({"ports": _tcp(*open_ports)})
    for_nodes = [each.port for each in found if each.is_for_nodes]
    if for_nodes:
        peers = [_own_pods(cluster)]
        if role is not Role.CONTROLLER:
            peers.append(_operator(operator_namespace))
        rules.append({"from": peers, "ports": _tcp(*for_nodes)})
    return rules


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

"""Who the pods are to the API server, and how clients and pods find each other."""

from collections.abc import Mapping
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import HTTP_PORT, ClusterIdentity, Manifest
from millstream_operator.resources.listeners import listeners


def service_account(cluster: ClusterIdentity, role: Role) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": cluster.metadata(cluster.service(role), role),
        "automountServiceAccountToken": role is Role.CONTROLLER,
    }


def metadata_store_access(cluster: ClusterIdentity) -> list[Manifest]:
    """Only the controllers may touch the objects in which the metadata log lives."""
    name = cluster.service(Role.CONTROLLER)
    api = "rbac.authorization.k8s.io"
    return [
        {
            "apiVersion": f"{api}/v1",
            "kind": "Role",
            "metadata": cluster.metadata(name, Role.CONTROLLER),
            "rules": [
                {
                    "apiGroups": ["millstream.dev"],
                    "resources": ["metadataslots"],
                    "verbs": ["get", "list", "create", "update", "delete"],
                }
            ],
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": cluster.metadata(name, Role.CONTROLLER),
            "roleRef": {"apiGroup": api, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}],
        },
    ]


def kafka_ports(spec: Mapping[str, Any], role: Role) -> list[Manifest]:
    """The first listener's is called kafka, as it is without credentials."""
    found = listeners(spec, role)
    names = ["kafka", *(each.name.lower() for each in found[1:])]
    return [{"name": name, "port": each.port, "targetPort": name} for name, each in zip(names, found, strict=True)]


def headless_service(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> Manifest:
    """Names for the pods themselves; a pod has to be reachable by name before it can become ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": cluster.metadata(cluster.service(role), role),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": cluster.labels(role),
            "ports": [
                *kafka_ports(spec, role),
                {"name": "http", "port": HTTP_PORT, "targetPort": "http"},
            ],
        },
    }


def bootstrap_service(cluster: ClusterIdentity, spec: Mapping[str, Any]) -> Manifest:
    """One address for clients to begin with; any ready broker answers there."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": cluster.metadata(cluster.bootstrap_service, Role.BROKER),
        "spec": {
            "selector": cluster.labels(Role.BROKER),
            "ports": kafka_ports(spec, Role.BROKER),
        },
    }

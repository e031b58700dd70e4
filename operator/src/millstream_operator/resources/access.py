"""Who the pods are to the API server, and how clients and pods find each other."""

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import HTTP_PORT, KAFKA_PORTS, ClusterIdentity, Manifest


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
                    "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
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


def headless_service(cluster: ClusterIdentity, role: Role) -> Manifest:
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
                {"name": "kafka", "port": KAFKA_PORTS[role], "targetPort": "kafka"},
                {"name": "http", "port": HTTP_PORT, "targetPort": "http"},
            ],
        },
    }


def bootstrap_service(cluster: ClusterIdentity) -> Manifest:
    """One address for clients to begin with; any ready broker answers there."""
    port = KAFKA_PORTS[Role.BROKER]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": cluster.metadata(cluster.bootstrap_service, Role.BROKER),
        "spec": {
            "selector": cluster.labels(Role.BROKER),
            "ports": [{"name": "kafka", "port": port, "targetPort": "kafka"}],
        },
    }

"""The StatefulSet of one role: pods with stable names, and for brokers a volume each."""

from collections.abc import Mapping
from typing import Any

from millstream_cluster.configs.replication import replication_of
from millstream_cluster.ids import Role
from millstream_operator.resources.access import kafka_ports
from millstream_operator.resources.external import ADDRESS_FILE
from millstream_operator.resources.identity import HTTP_PORT, KAFKA_PORTS, SPEC_FIELDS, ClusterIdentity, Manifest
from millstream_operator.resources.listeners import CERTIFICATES, by_node_ports, is_secured, listener_properties
from millstream_operator.resources.pod_security import container_security, pod_security

DATA_DIRECTORY = "/var/lib/millstream"
CONTROLLER_NAMES_MIN = 3


def stateful_set(
    cluster: ClusterIdentity,
    spec: Mapping[str, Any],
    role: Role,
    replicas: int,
    *,
    leaving_s_max: int,
    storage_kept: Manifest,
) -> Manifest:
    """`leaving_s_max`: how long a pod that is asked to stop may take; `storage_kept`: what of its volumes it has, and so keeps."""
    wanted = spec[SPEC_FIELDS[role]]
    labels = cluster.labels(role)
    manifest: Manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": cluster.metadata(cluster.service(role), role),
        "spec": {
            "serviceName": cluster.service(role),
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            # Kubernetes asks nobody what is in sync: the operator exchanges the pods (plan/roll.py).
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(cluster, spec, role, leaving_s_max)},
        },
    }
    if role is Role.BROKER:
        manifest["spec"] |= _volumes(wanted["storage"] | storage_kept)
    return manifest


def properties(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> dict[str, str]:
    """What the process is told. Brokers and coordinators may become more or fewer without a restart of the others."""
    told = {
        "process.roles": role.value,
        "node.id": "$(NODE_ID)",
        **listener_properties(cluster, spec, role),
        "controller.bootstrap.servers": _controllers(cluster, int(spec["controllers"]["replicas"])),
        "http.host": "0.0.0.0",
        "http.port": str(HTTP_PORT),
    }
    match role:
        case Role.BROKER:
            told["log.dirs"] = DATA_DIRECTORY
        case Role.CONTROLLER:
            told["controller.store"] = f"kubernetes:{cluster.namespace}/{cluster.name}"
        case Role.COORDINATOR:
            pass
    return replication_of(int(spec["brokers"]["replicas"])) | dict(spec.get("config") or {}) | told


def _controllers(cluster: ClusterIdentity, replicas: int) -> str:
    """Every controller by its own name: which of them is active is found by asking each.

    At least three names, so that going from one controller to three changes nobody's settings; a name without a pod is
    passed over.
    """
    service = cluster.service(Role.CONTROLLER)
    names = (f"{service}-{n}.{service}.{cluster.namespace}.svc" for n in range(max(replicas, CONTROLLER_NAMES_MIN)))
    return ",".join(f"{name}:{KAFKA_PORTS[Role.CONTROLLER]}" for name in names)


def _pod(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role, leaving_s_max: int) -> Manifest:
    labels = {"matchLabels": cluster.labels(role)}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}
    pod: Manifest = {
        "serviceAccountName": cluster.service(role),
        "automountServiceAccountToken": role is Role.CONTROLLER,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": leaving_s_max,
        "securityContext": pod_security(),
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        "containers": [_container(cluster, spec, role)],
    }
    if is_secured(spec):
        # The whole directory: the kubelet exchanges its files together when certificates are renewed.
        secret = {"secretName": cluster.certificates(role), "defaultMode": 0o440}
        pod["volumes"] = [{"name": "certificates", "secret": secret}]
    return pod


def _container(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> Manifest:
    settings = properties(cluster, spec, role)
    has_file = role is not Role.CONTROLLER and by_node_ports(spec)
    more = ["--config", f"{CERTIFICATES}/$(POD_NAME){ADDRESS_FILE}"] if has_file else []
    container: Manifest = {
        "name": role.value,
        "image": spec["images"][role.value],
        "imagePullPolicy": spec["images"].get("pullPolicy", "IfNotPresent"),
        "command": ["python", "-m", f"millstream_{role.value}.main"],
        "args": [part for key, value in sorted(settings.items()) for part in ("--set", f"{key}={value}")] + more,
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {
                "name": "NODE_ID",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}},
            },
        ],
        "ports": [
            *({"name": each["name"], "containerPort": each["port"]} for each in kafka_ports(spec, role)),
            {"name": "http", "containerPort": HTTP_PORT},
        ],
        "livenessProbe": _probe("/healthz", period_seconds=10, failures=6),
        "readinessProbe": _probe("/readyz", period_seconds=2, failures=3),
        "resources": dict(spec[SPEC_FIELDS[role]].get("resources") or {}),
        "securityContext": container_security(),
    }
    mounts: list[Manifest] = [{"name": "data", "mountPath": DATA_DIRECTORY}] if role is Role.BROKER else []
    if is_secured(spec):
        mounts.append({"name": "certificates", "mountPath": CERTIFICATES, "readOnly": True})
    return container | ({"volumeMounts": mounts} if mounts else {})


def _probe(path: str, *, period_seconds: int, failures: int) -> Manifest:
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": period_seconds, "failureThreshold": failures}


def _volumes(storage: Mapping[str, Any]) -> Manifest:
    claim: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage["size"]}},
    }
    if storage.get("className"):
        claim["storageClassName"] = storage["className"]
    return {
        "volumeClaimTemplates": [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data"},
                "spec": claim,
            }
        ],
        # A smaller replica count keeps the volume: the broker may come back.
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": storage.get("whenDeleted", "Retain"),
            "whenScaled": "Retain",
        },
    }

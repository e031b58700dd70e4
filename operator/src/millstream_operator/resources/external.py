"""Ways in from outside the Kubernetes cluster: a Service for each pod that clients talk to and one to begin with, routes of a gateway, and what pods tell of themselves.

A coordinator needs a door of its own as a broker does: a group is at one of them, and clients are sent to that very one
(docs/decisions/outside.md).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.resources.identity import SPEC_FIELDS, ClusterIdentity, Manifest
from millstream_operator.resources.listeners import (
    EXTERNAL_PORT,
    advertised,
    by_node_ports,
    external,
    listeners,
    outside_address,
    outside_bootstrap,
)

ROLES = (Role.BROKER, Role.COORDINATOR)
GATEWAY_API = "gateway.networking.k8s.io/v1"
ADDRESS_FILE = ".properties"


@dataclass(frozen=True, slots=True)
class _Door:
    role: Role
    service: str
    host: str
    port: int
    pod: str | None = None
    """None: any broker."""


def external_manifests(
    cluster: ClusterIdentity, spec: Mapping[str, Any], replicas: Mapping[Role, int]
) -> list[Manifest]:
    """Where they are names, whoever keeps the domain's points each at its Service, or all at the gateway."""
    outside = external(spec)
    if outside is None:
        return []
    found = []
    for door in _doors(cluster, outside, replicas):
        found.append(_service(cluster, outside, door))
        if outside.get("type") == "TLSRoute":
            found.append(_route(cluster, outside["gateway"], door))
    return found


def listener_fields(
    cluster: ClusterIdentity, spec: Mapping[str, Any], replicas: Mapping[Role, int], targets: Mapping[str, str]
) -> list[Manifest]:
    """For the status: where clients begin at each listener, and where they are sent from outside.

    `targets`: where a load balancer is, by the name of its Service: the domain's names have to lead there.
    """
    found: list[Manifest] = []
    for each in listeners(spec, Role.BROKER):
        if each.is_for_nodes:
            continue
        fields: Manifest = {"name": each.name.lower(), "protocol": each.protocol}
        outside = external(spec) if each.is_outside else None
        if outside is None:
            fields["bootstrap"] = f"{cluster.bootstrap_service}.{cluster.namespace}.svc:{each.port}"
        else:
            doors = list(_doors(cluster, outside, replicas))
            fields["bootstrap"] = f"{doors[0].host}:{doors[0].port}"
            fields["addresses"] = [_address_fields(door, targets) for door in doors]
        found.append(fields)
    return found


def _address_fields(door: _Door, targets: Mapping[str, str]) -> Manifest:
    fields = {"pod": door.pod or "any broker", "address": f"{door.host}:{door.port}"}
    return fields | ({"target": targets[door.service]} if door.service in targets else {})


def target_of(service: Mapping[str, Any]) -> str | None:
    """The address or name that a load balancer has given a Service."""
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return next((each.get("ip") or each.get("hostname") for each in ingress), None)


def _doors(cluster: ClusterIdentity, outside: Mapping[str, Any], replicas: Mapping[Role, int]) -> Iterator[_Door]:
    yield _Door(Role.BROKER, f"{cluster.bootstrap_service}-external", *outside_bootstrap(outside))
    for role in ROLES:
        for ordinal in range(replicas[role]):
            pod = f"{cluster.service(role)}-{ordinal}"
            yield _Door(role, f"{pod}-external", *outside_address(outside, role, pod, ordinal), pod)


def _service(cluster: ClusterIdentity, outside: Mapping[str, Any], door: _Door) -> Manifest:
    metadata = cluster.metadata(door.service, door.role)
    metadata["annotations"] = {"millstream.dev/host": door.host} | {
        key: value.replace("{host}", door.host) for key, value in (outside.get("annotations") or {}).items()
    }
    selector = cluster.labels(door.role)
    if door.pod is not None:
        selector = selector | {"statefulset.kubernetes.io/pod-name": door.pod}
    kind = outside.get("type", "LoadBalancer")
    port = {"name": "external", "port": EXTERNAL_PORT, "targetPort": "external"}
    match kind:
        case "NodePort":
            port |= {"nodePort": door.port}
        case "LoadBalancer":
            port |= {"port": door.port}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "type": "ClusterIP" if kind == "TLSRoute" else kind,
            "selector": selector,
            "ports": [port],
        },
    }


def _route(cluster: ClusterIdentity, gateway: Mapping[str, Any], door: _Door) -> Manifest:
    """The gateway tells the pods apart by the name that a client asks for in its TLS handshake, and ends no encryption."""
    parent = {key: gateway[key] for key in ("name", "namespace", "sectionName") if key in gateway}
    return {
        "apiVersion": GATEWAY_API,
        "kind": "TLSRoute",
        "metadata": cluster.metadata(door.service, door.role),
        "spec": {
            "parentRefs": [parent],
            "hostnames": [door.host],
            "rules": [{"backendRefs": [{"name": door.service, "port": EXTERNAL_PORT}]}],
        },
    }


def address_files(
    cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role, found: Iterable[str]
) -> dict[str, bytes]:
    """A file of properties for each pod, where one template cannot say the port of each; beside the certificates, which nobody else may write.

    `found`: the files that are there: a pod that is on its way out needs its own until it is gone.
    """
    if role not in ROLES or not by_node_ports(spec):
        return {}
    pods = max(int(spec[SPEC_FIELDS[role]]["replicas"]), sum(name.endswith(ADDRESS_FILE) for name in found))
    return {
        f"{cluster.service(role)}-{ordinal}{ADDRESS_FILE}": f"advertised.listeners={advertised(cluster, spec, role, ordinal)}\n".encode()
        for ordinal in range(pods)
    }

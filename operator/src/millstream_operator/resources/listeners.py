"""Where the pods of a role listen, what each of these doors asks for, and what the processes are told about it.

A secured cluster has one door for its own nodes and the operator (mutual TLS, the cluster's authority), and others for users: by SCRAM, by
a certificate of the users' authority, and, if a domain is named, by SCRAM from outside. A user's certificate is worth nothing at the
nodes' door: the two authorities have nothing in common.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.certificates.issue import Wanted
from millstream_operator.resources.identity import KAFKA_PORTS, ClusterIdentity

INTERNAL_PORT = 9096
EXTERNAL_PORT = 9097
MTLS_PORT = 9098
CERTIFICATES = "/etc/millstream/certificates"
NODE_PORT_FIRST = 32_000
NODES_UNIT = "nodes"
MECHANISM = "SCRAM-SHA-512"
PLAIN_NAMES = {Role.BROKER: "PLAINTEXT", Role.CONTROLLER: "CONTROLLER", Role.COORDINATOR: "PLAINTEXT"}


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    port: int
    protocol: str = "PLAINTEXT"
    is_outside: bool = False
    """Advertised with the addresses of the way in from outside, and not with the pods' own names."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Its own, by the keys that come after listener.name.NAME."""
    is_for_nodes: bool = False


def is_secured(spec: Mapping[str, Any]) -> bool:
    return bool((spec.get("security") or {}).get("enabled"))


def external(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The door to the outside, if one is asked for; there is none without credentials."""
    asked: Mapping[str, Any] | None = spec.get("externalListener")
    return asked if asked is not None and is_secured(spec) else None


def listeners(spec: Mapping[str, Any], role: Role) -> tuple[Listener, ...]:
    if not is_secured(spec):
        return (Listener(PLAIN_NAMES[role], KAFKA_PORTS[role], is_for_nodes=role is Role.CONTROLLER),)
    required = {"ssl.client.auth": "required"}
    if role is Role.CONTROLLER:
        return (Listener("CONTROLLER", KAFKA_PORTS[role], "SSL", settings=required, is_for_nodes=True),)
    users = required | {"ssl.truststore.location": f"{CERTIFICATES}/users-ca.crt"}
    found = [
        Listener("CLIENTS", KAFKA_PORTS[role], "SASL_SSL"),
        Listener("INTERNAL", INTERNAL_PORT, "SSL", settings=required, is_for_nodes=True),
        Listener("MTLS", MTLS_PORT, "SSL", settings=users),
    ]
    outside = external(spec)
    if outside is not None:
        found.append(Listener("EXTERNAL", EXTERNAL_PORT, "SASL_SSL", is_outside=True))
    return tuple(found)


def by_node_ports(spec: Mapping[str, Any]) -> bool:
    """Whether pods are told apart from outside by their ports, so that no two can be told the same about themselves."""
    outside = external(spec)
    return outside is not None and outside.get("type") == "NodePort"


def outside_address(outside: Mapping[str, Any], role: Role, pod: str, ordinal: int) -> tuple[str, int]:
    """Where clients find a pod from outside: each by a name of its own, or all by one and each at its port."""
    if outside.get("type") == "NodePort":
        # Brokers and coordinators take turns, so that each may become more and none gets another port.
        return outside["domain"], _first_port(outside) + 1 + 2 * ordinal + (role is Role.COORDINATOR)
    return f"{pod}.{outside['domain']}", outside.get("port", EXTERNAL_PORT)


def outside_bootstrap(outside: Mapping[str, Any]) -> tuple[str, int]:
    is_by_ports = outside.get("type") == "NodePort"
    return outside["domain"], _first_port(outside) if is_by_ports else outside.get("port", EXTERNAL_PORT)


def _first_port(outside: Mapping[str, Any]) -> int:
    return int(outside.get("nodePort", NODE_PORT_FIRST))


def advertised(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role, ordinal: int | None = None) -> str:
    """What a pod tells clients of itself; without an ordinal what any pod of the role is told to say."""
    pod = "$(POD_NAME)" if ordinal is None else f"{cluster.service(role)}-{ordinal}"
    own_name = f"{pod}.{cluster.service(role)}.{cluster.namespace}.svc"
    outside, addresses = external(spec), []
    for each in listeners(spec, role):
        host, port = own_name, each.port
        if each.is_outside and outside is not None:
            host, port = outside_address(outside, role, pod, ordinal or 0)
        addresses.append(f"{each.name}://{host}:{port}")
    return ",".join(addresses)


def listener_properties(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> dict[str, str]:
    """What a process is told about where it listens, and how it proves itself to the others."""
    found = listeners(spec, role)
    told = {"listeners": ",".join(f"{each.name}://0.0.0.0:{each.port}" for each in found)}
    if role is Role.CONTROLLER or not by_node_ports(spec):
        told["advertised.listeners"] = advertised(cluster, spec, role)
    if not is_secured(spec):
        return told
    protocols = {each.name: each.protocol for each in found} | {"CONTROLLER": "SSL", "INTERNAL": "SSL"}
    told |= {
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{CERTIFICATES}/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{CERTIFICATES}/ca.crt",
        "super.users": ";".join(super_users(cluster, spec)),
    }
    for each in found:
        told |= {f"listener.name.{each.name.lower()}.{key}": value for key, value in each.settings.items()}
    if role is not Role.CONTROLLER:
        told["sasl.enabled.mechanisms"] = MECHANISM
    return told


def super_users(cluster: ClusterIdentity, spec: Mapping[str, Any]) -> list[str]:
    """The nodes, the operator, and whom the Cluster names."""
    own = [node_certificate(cluster, spec, role).principal for role in Role]
    named = (spec.get("security") or {}).get("superUsers") or ()
    return [f"User:{name}" for name in (*own, operator_certificate(cluster).principal, *named)]


def node_certificate(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> Wanted:
    """One for all pods of a role: becoming more needs no new one."""
    service, namespace = cluster.service(role), cluster.namespace
    names = [f"{pod}{service}.{namespace}.svc{end}" for pod in ("*.", "") for end in ("", ".cluster.local")]
    if role is Role.BROKER:
        bootstrap = cluster.bootstrap_service
        names += [f"{bootstrap}{end}" for end in ("", f".{namespace}")]
        names += [f"{bootstrap}.{namespace}.svc{end}" for end in ("", ".cluster.local")]
    outside = external(spec)
    if outside is not None and role is not Role.CONTROLLER:
        names += [outside["domain"]] if by_node_ports(spec) else [f"*.{outside['domain']}", outside["domain"]]
    return Wanted(service, NODES_UNIT, (*names, "localhost", "127.0.0.1"))


def operator_certificate(cluster: ClusterIdentity) -> Wanted:
    return Wanted(f"{cluster.name}-operator", NODES_UNIT)

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
NODES_UNIT = "nodes"
MECHANISM = "SCRAM-SHA-512"
PLAIN_NAMES = {Role.BROKER: "PLAINTEXT", Role.CONTROLLER: "CONTROLLER", Role.COORDINATOR: "PLAINTEXT"}


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    port: int
    protocol: str = "PLAINTEXT"
    domain: str | None = None
    """Of the addresses that are advertised, where they are not the pods' own names."""
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
        found.append(Listener("EXTERNAL", EXTERNAL_PORT, "SASL_SSL", domain=outside["domain"]))
    return tuple(found)


def listener_properties(cluster: ClusterIdentity, spec: Mapping[str, Any], role: Role) -> dict[str, str]:
    """What a process is told about where it listens, and how it proves itself to the others."""
    own_domain = f"{cluster.service(role)}.{cluster.namespace}.svc"
    found = listeners(spec, role)
    told = {
        "listeners": ",".join(f"{each.name}://0.0.0.0:{each.port}" for each in found),
        "advertised.listeners": ",".join(
            f"{each.name}://$(POD_NAME).{each.domain or own_domain}:{each.port}" for each in found
        ),
    }
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
        names += [f"*.{outside['domain']}", outside["domain"]]
    return Wanted(service, NODES_UNIT, (*names, "localhost", "127.0.0.1"))


def operator_certificate(cluster: ClusterIdentity) -> Wanted:
    return Wanted(f"{cluster.name}-operator", NODES_UNIT)

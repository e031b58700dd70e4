"""Which cluster, as whom and by which doors: read from what Kubernetes says of Clusters, Users, Secrets and pods. Pure."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from millstream.commands.profiles import BOOTSTRAP
from millstream_client.addresses import Address, parse_bootstrap
from millstream_client.errors import InvalidData
from millstream_wire.late_dataclass import dataclass

Document = Mapping[str, Any]

_LOGIN = ("security.protocol", "sasl.mechanism", "sasl.jaas.config")
_ADVERTISED = "advertised.listeners="
_LISTENER = re.compile(r"([^:,=]+)://([^:,]+):(\d+)")


@dataclass(frozen=True, slots=True)
class Target:
    cluster: str
    namespace: str | None
    """Where the Cluster is; None: where kubectl looks by itself."""
    bootstrap: str | None
    """None: the User's Secret has it."""
    secret: str | None
    """With the credentials, in the namespace that was looked into; None: nobody logs in."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where a pod says that it is, and its port."""

    pod: str
    advertised: Address


def target_of(
    namespace: str | None,
    clusters: Sequence[Document],
    users: Sequence[Document],
    *,
    cluster: str | None,
    user: str | None,
) -> Target:
    """Those that are named; else the only ones in the namespace. Raises InvalidData."""
    if user is None and (clusters or cluster is not None):
        found = _chosen("cluster", clusters, cluster)
        if not (found["spec"].get("security") or {}).get("enabled"):
            bootstrap = (found.get("status") or {}).get("bootstrap")
            if not bootstrap:
                raise InvalidData(f"Cluster {_name(found)} has not started yet: its status names no address")
            return Target(_name(found), namespace, bootstrap, None)
        cluster = _name(found)
    wanted = [each for each in users if cluster in (None, each["spec"]["clusterRef"]["name"])]
    chosen = _chosen("user", wanted, user)
    secret = (chosen.get("status") or {}).get("secret")
    if not secret:
        raise InvalidData(f"User {_name(chosen)} is not ready yet: its status names no Secret")
    reference = chosen["spec"]["clusterRef"]
    return Target(reference["name"], reference.get("namespace") or namespace, None, secret)


def properties_in(secret: Document) -> dict[str, str]:
    """A User's credentials as client properties."""
    files = {name: base64.b64decode(text).decode() for name, text in (secret.get("data") or {}).items()}
    missing = [name for name in (BOOTSTRAP, "security.protocol", "ca.crt") if name not in files]
    if missing:
        raise InvalidData(f"the Secret {_name(secret)} has no {', '.join(missing)}: is it that of a User?")
    properties = {key: files[key] for key in (BOOTSTRAP, *_LOGIN) if key in files}
    properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": files["ca.crt"]}
    if "user.key" in files:
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": files["user.key"],
            "ssl.keystore.certificate.chain": files["user.crt"],
        }
    return properties


def doors_of(pods: Sequence[Document], bootstrap: str) -> list[Door]:
    """Of pods that are ready: the listener whose port is the bootstrap address's, and that of its name on pods of other roles."""
    [(_, port), *_] = parse_bootstrap(bootstrap)
    listeners = [(pod, _listeners(pod)) for pod in pods if _is_ready(pod)]
    names = {name for _, found in listeners for name, (_, its_port) in found.items() if its_port == port}
    return [Door(_name(pod), address) for pod, found in listeners for name, address in found.items() if name in names]


def _listeners(pod: Document) -> dict[str, Address]:
    """By name, as the pod advertises them: its command says so."""
    [container, *_] = pod["spec"]["containers"]
    for word in container.get("args") or ():
        if word.startswith(_ADVERTISED):
            told = word.removeprefix(_ADVERTISED).replace("$(POD_NAME)", _name(pod))
            return {name: (host, int(port)) for name, host, port in _LISTENER.findall(told)}
    return {}


def _is_ready(pod: Document) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _chosen(kind: str, documents: Sequence[Document], name: str | None) -> Document:
    there = {_name(each): each for each in documents}
    if name is None and len(there) == 1:
        return documents[0]
    listed = ", ".join(sorted(there)) or "none"
    if name is None:
        raise InvalidData(f"which {kind}? --{kind} NAME; in this namespace there are: {listed}")
    if name not in there:
        raise InvalidData(f"there is no {kind} {name} in this namespace; there are: {listed}")
    return there[name]


def _name(document: Document) -> str:
    name: str = document["metadata"]["name"]
    return name

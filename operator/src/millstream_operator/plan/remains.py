"""What a resource leaves behind in the cluster when it goes, kept apart from it: so nothing has to hold the resource back. Pure.

What is kept is the resource itself, cut down to what its deletion has to know: whoever deletes is told the same by both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream_operator.plan.scope import Body, cluster_key
from millstream_operator.resources.identity import ClusterIdentity, Manifest

API_VERSION, KIND = "millstream.dev/v1alpha1", "Remains"
KEPT = {
    "Topic": (("topicName", "deletionPolicy"), ("topicId", "created")),
    "ConsumerGroup": (("groupId", "deletionPolicy"), ("configs",)),
    "User": (("userName", "authentication"), ("made",)),
}
"""Of spec and status, for each kind that makes something in a cluster."""


@dataclass(frozen=True, slots=True)
class Remains:
    kind: str
    cluster_uid: str
    body: Body

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def namespace(self) -> str:
        """Of the resource; they themselves are in its Cluster's."""
        return str(self.body["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


def leaves_something(kind: str, body: Body) -> bool:
    policy, status = body["spec"].get("deletionPolicy"), body.get("status") or {}
    match kind:
        case "Topic":
            return bool(policy == "Delete" and status.get("created"))
        case "ConsumerGroup":
            return bool(policy == "DeleteIfEmpty" or status.get("configs"))
        case "User":
            return any((status.get("made") or {}).values())
        case _:
            return False


def remains_of(kind: str, body: Body, cluster: ClusterIdentity) -> Remains:
    spec, status = KEPT[kind]
    reference = {"name": cluster.name, "namespace": cluster.namespace}
    kept = {
        "metadata": {key: body["metadata"][key] for key in ("name", "namespace", "uid", "creationTimestamp")},
        "spec": _some(body["spec"], spec) | {"clusterRef": reference},
        "status": _some(body.get("status") or {}, status),
    }
    return Remains(kind, cluster.uid, kept)


def _some(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in names if name in fields}


def name_of(cluster_name: str, uid: str) -> str:
    return f"{cluster_name}-{uid}"


def manifest_of(remains: Remains, cluster: ClusterIdentity) -> Manifest:
    """It goes with the Cluster: what is left then goes with the Cluster's volumes."""
    metadata = cluster.metadata(name_of(cluster.name, remains.uid))
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"kind": remains.kind, "resource": remains.body},
    }


def read(manifest: Mapping[str, Any]) -> Remains | None:
    """None where it is not in the namespace of the Cluster it speaks of: from elsewhere nobody has a say in what is deleted there."""
    metadata, spec = manifest["metadata"], manifest["spec"]
    if cluster_key(spec["resource"])[0] != metadata["namespace"]:
        return None
    owners = [each["uid"] for each in metadata.get("ownerReferences") or () if each["kind"] == "Cluster"]
    return Remains(spec["kind"], owners[0] if owners else "", spec["resource"])

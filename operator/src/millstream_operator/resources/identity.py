"""Which Cluster a manifest belongs to: its names, labels and owner. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream_cluster.ids import Role

Manifest = dict[str, Any]

KAFKA_PORTS = {Role.BROKER: 9092, Role.CONTROLLER: 9093, Role.COORDINATOR: 9094}
HTTP_PORT = 9095
SPEC_FIELDS = {Role.BROKER: "brokers", Role.CONTROLLER: "controllers", Role.COORDINATOR: "coordinators"}
"""What a Cluster's spec calls the roles."""
CLUSTER_LABEL = "millstream.dev/cluster"


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """The Cluster resource as its children refer to it."""

    name: str
    namespace: str
    uid: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ClusterIdentity":
        metadata = body["metadata"]
        return cls(name=metadata["name"], namespace=metadata["namespace"], uid=metadata["uid"])

    def service(self, role: Role) -> str:
        return f"{self.name}-{role.value}"

    @property
    def bootstrap_service(self) -> str:
        return f"{self.name}-bootstrap"

    @property
    def bootstrap(self) -> str:
        return f"{self.bootstrap_service}.{self.namespace}.svc:{KAFKA_PORTS[Role.BROKER]}"

    def certificates(self, role: Role) -> str:
        """The Secret that the pods of a role mount."""
        return f"{self.service(role)}-certificates"

    @property
    def nodes_authority(self) -> str:
        """The Secret of the authority that the nodes' certificates are of."""
        return f"{self.name}-ca"

    @property
    def users_authority(self) -> str:
        return f"{self.name}-users-ca"

    def labels(self, role: Role | None = None) -> dict[str, str]:
        labels = {"app.kubernetes.io/part-of": "millstream", CLUSTER_LABEL: self.name}
        return labels if role is None else labels | {"millstream.dev/role": role.value}

    def metadata(self, name: str, role: Role | None = None) -> Manifest:
        """Owned by the Cluster, so that the garbage collector removes the child with it."""
        return {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels(role),
            "ownerReferences": [
                {
                    "apiVersion": "millstream.dev/v1alpha1",
                    "kind": "Cluster",
                    "name": self.name,
                    "uid": self.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }

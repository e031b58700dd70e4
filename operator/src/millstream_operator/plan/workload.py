"""The pods of one role as Kubernetes shows them: which are ready, which are of the template before, and why one does not run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_cluster.ids import Role

REVISION_LABEL = "controller-revision-hash"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class Pod:
    role: Role
    ordinal: int
    name: str
    uid: str
    is_ready: bool = True
    is_running: bool = True
    """Whether its container runs at all; if not, nothing is lost with the pod."""
    is_leaving: bool = False
    is_outdated: bool = False
    """Made from another template than the StatefulSet has now."""
    image: str = ""
    trouble: str = ""
    """Why it does not run, as the kubelet says it."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One role's StatefulSet and its pods, by ordinal."""

    replicas: int = 0
    is_observed: bool = True
    """Whether Kubernetes has seen the newest template: until then it is not known which pods are outdated."""
    pods: tuple[Pod, ...] = ()
    volume_claim_templates: tuple[Mapping[str, Any], ...] | None = None
    """As the StatefulSet has them: Kubernetes lets nobody change them."""

    @property
    def ready(self) -> int:
        return sum(pod.is_ready for pod in self.pods)

    @property
    def is_whole(self) -> bool:
        return self.ready == len(self.pods) == self.replicas


def workload_of(role: Role, stateful_set: Mapping[str, Any] | None, pods: Sequence[Mapping[str, Any]]) -> Workload:
    if stateful_set is None:
        return Workload()
    spec, status = stateful_set["spec"], stateful_set.get("status") or {}
    revision = status.get("updateRevision", "")
    uid = stateful_set["metadata"]["uid"]
    own = [pod for pod in pods if any(o.get("uid") == uid for o in pod["metadata"].get("ownerReferences") or ())]
    found = [_pod_of(role, pod, revision) for pod in own]
    return Workload(
        replicas=spec["replicas"],
        is_observed=bool(revision) and status.get("observedGeneration") == stateful_set["metadata"]["generation"],
        pods=tuple(sorted(found, key=lambda pod: pod.ordinal)),
        volume_claim_templates=tuple(spec.get("volumeClaimTemplates") or ()),
    )


def _pod_of(role: Role, pod: Mapping[str, Any], revision: str) -> Pod:
    metadata, status = pod["metadata"], pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    is_leaving = bool(metadata.get("deletionTimestamp"))
    [container] = pod["spec"]["containers"]
    states = [each.get("state") or {} for each in status.get("containerStatuses") or ()]
    return Pod(
        role=role,
        ordinal=int(metadata["labels"][INDEX_LABEL]),
        name=metadata["name"],
        uid=metadata["uid"],
        is_ready=conditions.get("Ready") == "True" and not is_leaving,
        is_running=any("running" in state for state in states),
        is_leaving=is_leaving,
        is_outdated=metadata["labels"].get(REVISION_LABEL) != revision,
        image=container["image"],
        trouble=_trouble(status, states),
    )


def _trouble(status: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> str:
    for state in states:
        reason: str = (state.get("waiting") or {}).get("reason", "")
        if reason and reason not in ("ContainerCreating", "PodInitializing"):
            return reason
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"{condition.get('reason', 'Unschedulable')}: {condition.get('message', '')}"
    return ""

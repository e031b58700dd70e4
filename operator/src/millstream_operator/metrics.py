"""What the operator tells Prometheus: how the clusters it looks after are, and which resources it does not get done with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from millstream_operator.plan.conditions import BLOCKED, Condition
from millstream_operator.plan.partitions import Totals
from millstream_runtime.exposition import Family, Kind

RESOURCES_MAX = 10_000
PARTITIONS = "millstream_cluster_partitions_"


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """A Cluster at the last look; `totals`: None where no broker answered."""

    totals: Totals | None
    ready: Condition
    progressing: Condition


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class GroupShown:
    """A declared group at the last look."""

    cluster: str
    group_id: str
    lag: int
    lag_seconds: int
    members: int
    stuck: int


class OperatorMetrics:
    """Of the last look at each resource. `now_ms` is a monotonic clock."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._clusters: dict[tuple[str, str], ClusterSeen] = {}
        self._groups: dict[Resource, GroupShown] = {}
        self._failing_since_ms: dict[Resource, int] = {}

    def saw(self, namespace: str, name: str, seen: ClusterSeen) -> None:
        self._clusters[namespace, name] = seen

    def forget(self, namespace: str, name: str) -> None:
        self._clusters.pop((namespace, name), None)

    def saw_group(self, resource: Resource, shown: GroupShown) -> None:
        if resource in self._groups or len(self._groups) < RESOURCES_MAX:
            self._groups[resource] = shown

    def forget_group(self, resource: Resource) -> None:
        self._groups.pop(resource, None)

    def succeeded(self, resource: Resource) -> None:
        self._failing_since_ms.pop(resource, None)

    def failed(self, resource: Resource) -> None:
        if len(self._failing_since_ms) < RESOURCES_MAX:
            self._failing_since_ms.setdefault(resource, self._now_ms())

    def keep(self, kind: str, there: Iterable[Resource]) -> None:
        """Forget those of a kind that are gone."""
        known = set(there)
        if kind == "ConsumerGroup":
            self._groups = {each: shown for each, shown in self._groups.items() if each in known}
        for resource in [each for each in self._failing_since_ms if each.kind == kind and each not in known]:
            del self._failing_since_ms[resource]

    def collect(self) -> Iterable[Family]:
        yield from self._of_clusters()
        yield from self._of_groups()
        since = Family(
            Kind.GAUGE, "millstream_operator_failing_seconds", "For how long no look at a resource has succeeded."
        )
        for resource, began_ms in sorted(self._failing_since_ms.items()):
            labels = {"kind": resource.kind, "namespace": resource.namespace, "name": resource.name}
            since.add((self._now_ms() - began_ms) / 1000, **labels)
        yield since

    def _of_clusters(self) -> Iterable[Family]:
        ready = Family(Kind.GAUGE, "millstream_cluster_ready", "1 if the Cluster is Ready, with the reason.")
        blocked = Family(
            Kind.GAUGE,
            "millstream_cluster_blocked",
            "1 for a Cluster that stays behind what it was asked for, and why.",
        )
        counts = {
            "offline": Family(Kind.GAUGE, f"{PARTITIONS}offline", "Partitions without a leader."),
            "under_replicated": Family(
                Kind.GAUGE, f"{PARTITIONS}under_replicated", "Partitions with fewer replicas in sync than they have."
            ),
            "under_min_isr": Family(
                Kind.GAUGE, f"{PARTITIONS}under_min_isr", "Partitions that take no records with acks=all."
            ),
            "moving": Family(Kind.GAUGE, f"{PARTITIONS}reassigning", "Partitions whose replicas are on the move."),
        }
        for (namespace, name), seen in sorted(self._clusters.items(), key=lambda each: each[0]):
            labels = {"namespace": namespace, "cluster": name}
            ready.add(int(seen.ready.status is True), reason=seen.ready.reason, **labels)
            for condition in (seen.ready, seen.progressing):
                if condition.reason in BLOCKED:
                    blocked.add(1, reason=condition.reason, **labels)
            if seen.totals is not None:
                for field, family in counts.items():
                    family.add(getattr(seen.totals, field), **labels)
        yield from (ready, blocked, *counts.values())

    def _of_groups(self) -> Iterable[Family]:
        about = {
            "lag": ("millstream_group_lag_records", "Records that a declared group has not read."),
            "lag_seconds": ("millstream_group_lag_seconds", "Since the oldest of them was written."),
            "members": ("millstream_declared_group_members", "Members of a declared group."),
            "stuck": ("millstream_group_stuck_partitions", "Partitions with records in which its members do not move."),
        }
        families = {field: Family(Kind.GAUGE, *told) for field, told in about.items()}
        for resource, shown in sorted(self._groups.items()):
            labels = {"namespace": resource.namespace, "cluster": shown.cluster, "group": shown.group_id}
            for field, family in families.items():
                family.add(getattr(shown, field), **labels)
        yield from families.values()

"""How many consumers a group is to have, by how far behind it is. Pure.

More at once, fewer only when that was enough for a whole cool-down: each change costs the group a rebalance. Never more than there are
partitions to read: the others would have nothing to do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

REMEMBERED_MAX = 1_000
COOLDOWN_S = 300


@dataclass(frozen=True, slots=True)
class Scaling:
    kind: str
    """Deployment or StatefulSet."""
    name: str
    replicas: int | None
    """What somebody asked for (`kubectl scale`, an autoscaler); None where lag decides."""
    lag_per_replica: int
    least: int
    most: int
    cooldown_ms: int

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Scaling | None":
        declared = spec.get("scaling")
        if declared is None:
            return None
        return cls(
            kind=declared["workload"]["kind"],
            name=declared["workload"]["name"],
            replicas=declared.get("replicas"),
            lag_per_replica=declared.get("lagPerReplica", 1),
            least=declared.get("minReplicas", 1),
            most=declared.get("maxReplicas", 1),
            cooldown_ms=1000 * declared.get("cooldownSeconds", COOLDOWN_S),
        )


class Recommendations:
    """What the lag asked for lately."""

    def __init__(self, began_ms: int) -> None:
        self._began_ms = began_ms
        self._asked: list[tuple[int, int]] = []

    def wanted(self, scaling: Scaling, lag: int, partitions: int, current: int, now_ms: int) -> int:
        if scaling.replicas is not None:
            return scaling.replicas
        by_lag = max(-(-lag // scaling.lag_per_replica), 1 if lag else 0)
        most = min(scaling.most, partitions) if partitions else scaling.most
        asked = max(min(by_lag, most), scaling.least)
        self._asked = [each for each in self._asked if now_ms - each[0] < scaling.cooldown_ms][-REMEMBERED_MAX:]
        self._asked.append((now_ms, asked))
        if asked >= current:
            return asked
        if now_ms - self._began_ms < scaling.cooldown_ms:
            return max(min(current, scaling.most), scaling.least)
        return max(min(current, max(replicas for _, replicas in self._asked)), asked)


def without_pods(name: str, end: int, instances: Iterable[str]) -> list[str]:
    """Static members named after pods of a StatefulSet that it does not have any more; `end`: its first ordinal without a pod.

    Those before its first pod are somebody else's: StatefulSets of one name share the ordinals out while one moves elsewhere.
    """
    return sorted(each for each in instances if (ordinal := _ordinal(name, each)) is not None and ordinal >= end)


def _ordinal(name: str, instance: str) -> int | None:
    workload, _, ordinal = instance.rpartition("-")
    return int(ordinal) if workload == name and ordinal.isascii() and ordinal.isdecimal() else None

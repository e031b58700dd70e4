"""What a ConsumerGroup resource leads to: where the group starts, and what its status says about members and lag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_operator.plan.conditions import Condition

Partition = tuple[str, int]

NO_MEMBERS = {"Empty", "Dead", ""}


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offsets `[start, end)` that a partition holds."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GroupSeen:
    state: str
    """As the coordinator names it; "Dead" for a group that it does not know."""
    protocol: str
    members: int
    coordinator: str
    committed: Mapping[Partition, int]
    ranges: Mapping[Partition, LogRange]
    """Every partition that was committed or is of a declared topic."""
    missing_topics: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lag:
    total: int
    largest: int
    partitions: int


def lag_of(seen: GroupSeen) -> Lag:
    """What is there and not yet consumed. Records that retention took away are not lag any more."""
    behind = []
    for partition, log in seen.ranges.items():
        position = max(seen.committed.get(partition, log.start), log.start)
        behind.append(max(0, log.end - position))
    return Lag(total=sum(behind), largest=max(behind, default=0), partitions=sum(lag > 0 for lag in behind))


def initial_offsets(spec: Mapping[str, Any], seen: GroupSeen) -> dict[Partition, int]:
    """Where to start the partitions of declared topics that have no committed offset, while nobody is in the group."""
    initial = (spec.get("offsets") or {}).get("initial")
    declared = set(spec.get("topics") or ())
    if initial is None or seen.state not in NO_MEMBERS:
        return {}
    return {
        partition: log.start if initial == "Earliest" else log.end
        for partition, log in seen.ranges.items()
        if partition[0] in declared and partition not in seen.committed
    }


def group_fields(seen: GroupSeen) -> dict[str, Any]:
    lag = lag_of(seen)
    return {
        "state": seen.state,
        "protocol": seen.protocol,
        "members": seen.members,
        "coordinator": seen.coordinator,
        "lag": {"total": lag.total, "max": lag.largest, "partitionsWithLag": lag.partitions},
    }


def group_readiness(seen: GroupSeen) -> Condition:
    if seen.missing_topics:
        return Condition("Ready", False, "TopicsMissing", "no such topic: " + ", ".join(seen.missing_topics[:20]))
    return Condition("Ready", True, "Observed", f"{seen.members} members, state {seen.state}")

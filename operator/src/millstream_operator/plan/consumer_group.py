"""What a ConsumerGroup resource leads to: where the group starts, and what its status says about members and lag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from millstream_cluster.offset_resets import LogRange, Partition
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.group_configs import DRAIN
from millstream_operator.plan.lag_times import Behind

NO_MEMBERS = {"Empty", "Dead", ""}
SHARE = "share"
STUCK_SHOWN_MAX = 20
STUCK_AFTER_S = 300


@dataclass(frozen=True, slots=True)
class GroupSeen:
    state: str
    """As the coordinator names it; "Dead" for a group that it does not know."""
    type: str
    """classic, consumer or share; empty for a group that is not there."""
    protocol: str
    members: int
    coordinator: str
    committed: Mapping[Partition, int]
    """Of a share group where each partition's delivery begins."""
    ranges: Mapping[Partition, LogRange]
    """Of every partition that was committed or is of a declared topic, if its leader answers."""
    missing_topics: Sequence[str] = ()
    unanswered: int = 0
    """Partitions that no leader answers for."""
    left: Mapping[Partition, int] = field(default_factory=dict)
    """What the coordinator itself says is not done yet: of share groups, which are done with records in any order."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Only what is set for this group."""
    statics: Mapping[str, str] = field(default_factory=dict)
    """Ids of static members by their instance ids."""

    @property
    def withholds(self) -> bool:
        """Members are to have nothing to read."""
        return "true" in (self.configs.get("paused"), self.configs.get(DRAIN))

    @property
    def is_empty(self) -> bool:
        return self.state in NO_MEMBERS

    def position(self, partition: Partition) -> int:
        """The first record that the group has not read; what retention took away it need not."""
        log = self.ranges[partition]
        return log.clamped(self.committed.get(partition, log.start))


@dataclass(frozen=True, slots=True)
class Lag:
    total: int
    largest: int
    partitions: int


def lags_of(seen: GroupSeen) -> dict[Partition, int]:
    """What is there and not yet consumed. Records that retention took away are not lag any more."""
    return {each: seen.left.get(each, log.end - seen.position(each)) for each, log in seen.ranges.items()}


def lag_of(seen: GroupSeen) -> Lag:
    behind = lags_of(seen).values()
    return Lag(total=sum(behind), largest=max(behind, default=0), partitions=sum(lag > 0 for lag in behind))


def initial_offsets(spec: Mapping[str, Any], seen: GroupSeen) -> dict[Partition, int]:
    """Where to start the partitions of declared topics that have no committed offset, while nobody is in the group.

    Those that come later begin as the group's configuration says, when a member first asks.
    """
    initial = (spec.get("offsets") or {}).get("initial")
    declared = set(spec.get("topics") or ())
    if initial is None or not seen.is_empty or seen.type == SHARE:
        return {}
    return {
        partition: log.start if initial == "Earliest" else log.end
        for partition, log in seen.ranges.items()
        if partition[0] in declared and partition not in seen.committed
    }


def stuck_after_ms(spec: Mapping[str, Any]) -> int:
    return int((spec.get("alerts") or {}).get("stuckAfterSeconds", STUCK_AFTER_S)) * 1000


def group_fields(seen: GroupSeen, behind: Behind) -> dict[str, Any]:
    lag, lags = lag_of(seen), lags_of(seen)
    return {
        "state": seen.state,
        "type": seen.type,
        "protocol": seen.protocol,
        "members": seen.members,
        "coordinator": seen.coordinator,
        "lag": {
            "total": lag.total,
            "max": lag.largest,
            "seconds": behind.ms // 1000,
            "partitionsWithLag": lag.partitions,
            "partitionsStuck": len(behind.stuck),
            "partitionsUnanswered": seen.unanswered,
        },
        "stuckPartitions": [
            {
                "topic": topic,
                "partition": index,
                "committed": seen.committed.get((topic, index), -1),
                "lag": lags[topic, index],
                "since": moment(since_ms),
            }
            for (topic, index), since_ms in sorted(behind.stuck.items())[:STUCK_SHOWN_MAX]
        ],
    }


def group_conditions(spec: Mapping[str, Any], seen: GroupSeen, behind: Behind) -> list[Condition]:
    return [_readiness(seen), _pause(seen), _lagging(spec, seen, behind), _stuck(seen, behind)]


def _readiness(seen: GroupSeen) -> Condition:
    if seen.missing_topics:
        return Condition("Ready", False, "TopicsMissing", "no such topic: " + ", ".join(seen.missing_topics[:20]))
    if seen.unanswered:
        return Condition("Ready", None, "PartitionsOffline", f"no leader answers for {seen.unanswered} partitions")
    return Condition("Ready", True, "Observed", f"{seen.members} members, state {seen.state}")


def _pause(seen: GroupSeen) -> Condition:
    if seen.configs.get("paused") == "true":
        return Condition("Paused", True, "Paused", "members stay and have no partitions")
    return Condition("Paused", False, "NotPaused")


def _lagging(spec: Mapping[str, Any], seen: GroupSeen, behind: Behind) -> Condition:
    alerts = spec.get("alerts") or {}
    lag, seconds = lag_of(seen).total, behind.ms // 1000
    if lag > alerts.get("maxLag", lag):
        return Condition("Lagging", True, "TooManyRecords", f"{lag} records, more than {alerts['maxLag']}")
    if seconds > alerts.get("maxLagSeconds", seconds):
        return Condition("Lagging", True, "TooLong", f"{seconds} seconds, more than {alerts['maxLagSeconds']}")
    return Condition("Lagging", False, "WithinLimits" if alerts.keys() & {"maxLag", "maxLagSeconds"} else "NoLimits")


def _stuck(seen: GroupSeen, behind: Behind) -> Condition:
    if not behind.stuck:
        return Condition("Stuck", False, "Moving")
    names = ", ".join(f"{topic}-{index}" for topic, index in sorted(behind.stuck)[:STUCK_SHOWN_MAX])
    return Condition("Stuck", True, "NoProgress", f"members commit nothing in {names}, though there are records")


def moment(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""What a Topic resource leads to: steps against the cluster, and what its status says.

Steps are safe to stop after any of them: the next look at the cluster plans the rest. Nothing here removes data.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never
from uuid import UUID

from millstream_cluster.ids import uuid_text
from millstream_operator.plan.conditions import Condition

PROBLEMS_SHOWN_MAX = 20
TOPIC_NAME_LENGTH_MAX = 249
PASSING = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Configs that are set for as long as replicas move."""


@dataclass(frozen=True, slots=True)
class WantedTopic:
    name: str
    partitions: int
    replication_factor: int | None
    """None: whatever is the cluster's default when the topic is created."""
    config: Mapping[str, str | None]
    """A null leaves the key to whoever sets it elsewhere."""
    is_strict: bool = False
    """What is set for the topic and not named in `config` goes."""
    brokers: frozenset[int] = frozenset()
    """Who may hold it; empty: whoever."""

    @property
    def enforced(self) -> dict[str, str]:
        return {key: value for key, value in self.config.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PartitionSeen:
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """A topic as the cluster shows it."""

    topic_id: UUID
    partitions: tuple[PartitionSeen, ...]
    config: Mapping[str, str]
    """Only what is set for this topic, not what it inherits."""


@dataclass(frozen=True, slots=True)
class CreateTopic:
    name: str
    partitions: int
    replication_factor: int | None
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GrowPartitions:
    name: str
    partitions: int


@dataclass(frozen=True, slots=True)
class SetConfigs:
    name: str
    config: Mapping[str, str | None]
    """None: what the cluster has for all topics."""


@dataclass(frozen=True, slots=True)
class MoveReplicas:
    replicas: Mapping[tuple[str, int], tuple[int, ...]]


Step = CreateTopic | GrowPartitions | SetConfigs | MoveReplicas


@dataclass(frozen=True, slots=True)
class TopicPlan:
    steps: tuple[Step, ...]
    refusal: Condition | None = None
    """What was asked for and will not be done."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    fields: Mapping[str, Any]
    condition: Condition


def wanted_topic(resource_name: str, spec: Mapping[str, Any]) -> WantedTopic:
    return WantedTopic(
        name=spec.get("topicName") or resource_name,
        partitions=int(spec.get("partitions", 1)),
        replication_factor=int(spec["replicationFactor"]) if "replicationFactor" in spec else None,
        config=dict(spec.get("config") or {}),
        is_strict=spec.get("configPolicy") == "Strict",
        brokers=frozenset((spec.get("placement") or {}).get("brokers") or ()),
    )


def plan_topic(wanted: WantedTopic, seen: TopicSeen | None) -> TopicPlan:
    enforced = wanted.enforced
    if seen is None:
        return TopicPlan((CreateTopic(wanted.name, wanted.partitions, wanted.replication_factor, enforced),))
    steps: list[Step] = []
    refusal = None
    count = len(seen.partitions)
    if wanted.partitions > count:
        steps.append(GrowPartitions(wanted.name, wanted.partitions))
    elif wanted.partitions < count:
        message = f"{wanted.partitions} partitions wanted, {count} there: a topic's partitions cannot become fewer"
        refusal = Condition("Ready", False, "PartitionsCannotShrink", message)
    differing: dict[str, str | None] = {key: value for key, value in enforced.items() if seen.config.get(key) != value}
    if wanted.is_strict:
        differing |= dict.fromkeys(sorted(seen.config.keys() - wanted.config.keys() - PASSING))
    if differing:
        steps.append(SetConfigs(wanted.name, differing))
    return TopicPlan(tuple(steps), refusal)


def has_to_move(wanted: WantedTopic, seen: TopicSeen) -> bool:
    """Whether replicas are not as many as wanted, or on brokers that are not. While they move there are more of them."""
    factor = wanted.replication_factor
    return any(
        (factor is not None and len(each.replicas) != factor)
        or bool(wanted.brokers and set(each.replicas) - wanted.brokers)
        for each in seen.partitions
    )


def told(step: Step) -> str:
    """What a step does, for who reads it in a status."""
    match step:
        case CreateTopic():
            return f"create it with {step.partitions} partitions"
        case GrowPartitions():
            return f"grow to {step.partitions} partitions: keys go to other partitions than before"
        case SetConfigs():
            changes = (
                f"{key} to {value}" if value is not None else f"{key} to the default"
                for key, value in step.config.items()
            )
            return f"set {', '.join(changes)}"
        case MoveReplicas():
            return f"change the replicas of {len(step.replicas)} partitions"
        case _:
            assert_never(step)


def replication_factor(seen: TopicSeen) -> int:
    return min((len(partition.replicas) for partition in seen.partitions), default=0)


def topic_status(seen: TopicSeen, refusal: Condition | None, pod_names: Mapping[int, str]) -> TopicStatus:
    online = [partition for partition in seen.partitions if partition.leader >= 0]
    troubled = [p for p in seen.partitions if p.leader < 0 or len(p.isr) < len(p.replicas)]
    leaders = Counter(pod_names.get(partition.leader, f"node-{partition.leader}") for partition in online)
    fields = {
        "topicId": uuid_text(seen.topic_id),
        "replicationFactor": replication_factor(seen),
        "partitions": {
            "total": len(seen.partitions),
            "online": len(online),
            "underReplicated": sum(len(p.isr) < len(p.replicas) for p in seen.partitions),
        },
        "leaders": dict(sorted(leaders.items())),
        "problemPartitions": [
            {"partition": p.index, "leader": p.leader, "isr": list(p.isr)} for p in troubled[:PROBLEMS_SHOWN_MAX]
        ],
    }
    return TopicStatus(fields, refusal or _readiness(len(seen.partitions), len(online)))


def _readiness(total: int, online: int) -> Condition:
    if online < total:
        return Condition("Ready", False, "PartitionsOffline", f"{total - online} of {total} partitions have no leader")
    return Condition("Ready", True, "AsDeclared", "the topic is as declared and every partition has a leader")


def is_the_created(status: Mapping[str, Any], topic_id: UUID) -> bool:
    """Whether it is the very topic that the resource created; one of the same name made since is somebody else's."""
    return bool(status.get("created")) and status.get("topicId") == uuid_text(topic_id)

"""What a Topic resource leads to: steps against the cluster, and what its status says.

Steps are safe to stop after any of them: the next look at the cluster plans the rest. Nothing here removes data.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from millstream_cluster.ids import uuid_text
from millstream_operator.plan.conditions import Condition

PROBLEMS_SHOWN_MAX = 20
TOPIC_NAME_LENGTH_MAX = 249


@dataclass(frozen=True, slots=True)
class WantedTopic:
    name: str
    partitions: int
    replication_factor: int | None
    """None: whatever is the cluster's default when the topic is created."""
    config: Mapping[str, str | None]
    """A null leaves the key to whoever sets it elsewhere."""


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
    config: Mapping[str, str]


Step = CreateTopic | GrowPartitions | SetConfigs


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
    )


def plan_topic(wanted: WantedTopic, seen: TopicSeen | None) -> TopicPlan:
    enforced = {key: value for key, value in wanted.config.items() if value is not None}
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
    factor = replication_factor(seen)
    if refusal is None and wanted.replication_factor not in (None, factor):
        message = f"replication factor {wanted.replication_factor} wanted, {factor} there: it cannot be changed yet"
        refusal = Condition("Ready", False, "ReplicationFactorCannotChange", message)
    differing = {key: value for key, value in enforced.items() if seen.config.get(key) != value}
    if differing:
        steps.append(SetConfigs(wanted.name, differing))
    return TopicPlan(tuple(steps), refusal)


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


def may_delete(status: Mapping[str, Any], live_topic_id: UUID | None) -> bool:
    """A resource deletes only the very topic that it created; one of the same name made since is somebody else's."""
    return (
        live_topic_id is not None and bool(status.get("created")) and status.get("topicId") == uuid_text(live_topic_id)
    )

"""What of a Topic's plan is held back: for approval, or because groups would lose what they have not read. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.topic import CreateTopic, SetConfigs, Step, TopicSeen, WantedTopic, told

RETENTION_MS = "retention.ms"
GROUPS_SHOWN_MAX = 20
UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Slowest:
    """The group that is furthest behind in a topic."""

    group_id: str
    behind_ms: int


def is_approved(spec: Mapping[str, Any], plan_id: str, steps: Sequence[Step]) -> bool:
    """A topic that is not there yet is made without asking: nobody is affected."""
    if spec.get("approve") != "Manual" or not steps or isinstance(steps[0], CreateTopic):
        return True
    return bool(spec.get("approvedPlan") == plan_id)


def plan_id_of(wanted: WantedTopic, seen: TopicSeen) -> str:
    """The same for as long as the same is wanted of a topic that is the same: what was approved is what is done."""
    said = {
        "topic": str(seen.topic_id),
        "partitions": [wanted.partitions, len(seen.partitions)],
        "replicas": [wanted.replication_factor, sorted(wanted.brokers), [each.replicas for each in seen.partitions]],
        "config": [dict(wanted.config), wanted.is_strict, dict(seen.config)],
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def plan_fields(
    plan_id: str, steps: Sequence[Step], movement: Mapping[str, int], groups: Sequence[str]
) -> dict[str, Any]:
    """As the status shows it."""
    return {
        "id": plan_id,
        "steps": [told(step) for step in steps],
        "moves": dict(movement),
        "groups": sorted(groups)[:GROUPS_SHOWN_MAX],
    }


def waits_for_approval(plan_id: str, steps: Sequence[Step]) -> Condition:
    message = f"{'; '.join(told(step) for step in steps)}. spec.approvedPlan: {plan_id} does it"
    return Condition("Ready", False, "WaitsForApproval", message)


def lowers_retention(steps: Sequence[Step], seen: TopicSeen) -> int | None:
    """To what, if what is kept may become less."""
    for step in steps:
        value = step.config.get(RETENTION_MS) if isinstance(step, SetConfigs) else None
        if value is not None and _is_less(value, seen.config.get(RETENTION_MS)):
            return int(value)
    return None


def _is_less(value: str, now: str | None) -> bool:
    if not value.lstrip("-").isdecimal() or int(value) == UNLIMITED:
        return False
    return now is None or int(now) == UNLIMITED or int(value) < int(now)


def guarded(
    steps: Sequence[Step], retention_ms: int, slowest: Slowest | None
) -> tuple[tuple[Step, ...], Condition | None]:
    """The steps without a retention that would delete what a declared group has not read yet."""
    if slowest is None or slowest.behind_ms < retention_ms:
        return tuple(steps), None
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, SetConfigs):
            config = {key: value for key, value in step.config.items() if key != RETENTION_MS}
            kept += [SetConfigs(step.name, config)] if config else []
        else:
            kept.append(step)
    message = (
        f"{RETENTION_MS} {retention_ms} would delete what group {slowest.group_id} has not read: it is {slowest.behind_ms} ms behind; "
        "spec.forceRetention: true does it all the same"
    )
    return tuple(kept), Condition("Ready", False, "RetentionBelowLag", message)

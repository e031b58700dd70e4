"""The GROUP configs that a ConsumerGroup resource leads to, and which of a group's configs are the resource's to take away. Pure.

The coordinators hold to them, whatever becomes of the operator. What the resource does not name is left to whoever sets it elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

DRAIN = "drain"
ADMISSIONS = {"Open": "open", "DeclaredTopics": "declared", "Closed": "closed"}
MEMBERS = {
    "max": "max.size",
    "sessionTimeoutMs": "consumer.session.timeout.ms",
    "heartbeatIntervalMs": "consumer.heartbeat.interval.ms",
}


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    changes: Mapping[str, str | None]
    """None takes a config away."""
    noted: tuple[str, ...]
    """What is the resource's own while they are made: to be written down before."""
    made: tuple[str, ...]
    """And afterwards."""


def wanted_configs(spec: Mapping[str, Any], *, drains: bool) -> dict[str, str]:
    offsets = spec.get("offsets") or {}
    members = spec.get("members") or {}
    wanted = {key: value for key, value in (spec.get("config") or {}).items() if value is not None}
    wanted |= {key: str(members[field]) for field, key in MEMBERS.items() if field in members}
    if "paused" in spec:
        wanted["paused"] = "true" if spec["paused"] else "false"
    if "admission" in spec:
        wanted["admission"] = ADMISSIONS[spec["admission"]]
    if spec.get("admission") == "DeclaredTopics":
        wanted["admission.topics"] = ",".join(spec.get("topics") or ())
    if "initial" in offsets:
        wanted["offsets.initial"] = offsets["initial"].lower()
    if "retentionMinutes" in offsets:
        wanted["offsets.retention.minutes"] = str(offsets["retentionMinutes"])
    if drains:
        wanted[DRAIN] = "true"
    return wanted


def plan_configs(wanted: Mapping[str, str], seen: Mapping[str, str], made: Iterable[str]) -> ConfigPlan:
    """`seen`: what is set for this group."""
    changes: dict[str, str | None] = {key: value for key, value in wanted.items() if seen.get(key) != value}
    gone = set(made) - wanted.keys()
    changes |= dict.fromkeys(sorted(gone & seen.keys()))
    return ConfigPlan(changes, tuple(sorted({*made, *wanted})), tuple(sorted(wanted)))

"""Conditions of a resource's status, and the one rule about them: the transition time moves only with the status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MESSAGE_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: bool | None
    reason: str
    message: str = ""


def merge(
    previous: Iterable[Mapping[str, Any]], conditions: Sequence[Condition], generation: int, now_ms: int
) -> list[dict[str, Any]]:
    """The conditions as the API server shall hold them."""
    before = {condition["type"]: condition for condition in previous}
    now = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    merged = []
    for condition in conditions:
        status = {True: "True", False: "False", None: "Unknown"}[condition.status]
        old = before.get(condition.type)
        unchanged = old is not None and old["status"] == status
        merged.append(
            {
                "type": condition.type,
                "status": status,
                "reason": condition.reason,
                "message": condition.message[:MESSAGE_LENGTH_MAX],
                "lastTransitionTime": old["lastTransitionTime"] if old is not None and unchanged else now,
                "observedGeneration": generation,
            }
        )
    return merged

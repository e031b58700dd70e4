"""Conditions of a resource's status, and the one rule about them: the transition time moves only with the status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MESSAGE_LENGTH_MAX = 1000
BLOCKED = frozenset({"RollBlocked", "PodDoesNotStart", "ScaleDownBlocked", "StorageNotChanged"})
"""Reasons for which a Cluster stays behind what it was asked for."""
TOLD = frozenset({"ResetRefused", "TooManyRecords", "TooLong", "NoProgress"})
"""Reasons of other resources' conditions for which a person should look at them."""


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: bool | None
    reason: str
    message: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether a person should look at it."""
        return (self.status is not True and self.type == "Ready") or self.reason in BLOCKED | TOLD


def turned(previous: Iterable[Mapping[str, Any]], conditions: Sequence[Condition]) -> list[Condition]:
    """Those that say something else than before; a message that only counts on is nothing new."""
    before = {condition["type"]: (condition["status"], condition["reason"]) for condition in previous}
    return [each for each in conditions if before.get(each.type) != (_status(each), each.reason)]


def merge(
    previous: Iterable[Mapping[str, Any]], conditions: Sequence[Condition], generation: int, now_ms: int
) -> list[dict[str, Any]]:
    """The conditions as the API server shall hold them."""
    before = {condition["type"]: condition for condition in previous}
    now = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    merged = []
    for condition in conditions:
        status = _status(condition)
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


def _status(condition: Condition) -> str:
    return {True: "True", False: "False", None: "Unknown"}[condition.status]

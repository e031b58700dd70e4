"""Partitions with no copy left: they are offline until a person accepts that, and then begin anew, empty.

What a person accepts is exactly what the status shows: `spec.acceptLoss` repeats its token, and whatever is lost later has another one.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from millstream_operator.plan.partitions import PartitionStanding


def lost(partitions: Sequence[PartitionStanding] | None) -> tuple[PartitionStanding, ...]:
    return tuple(each for each in partitions or () if each.is_lost)


def token_of(gone: Sequence[PartitionStanding]) -> str:
    """Of these very partitions, each as of its last leader: one that begins anew and is lost again is another loss."""
    named = "\n".join(sorted(f"{each.topic} {each.index} {each.leader_epoch}" for each in gone))
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def accepted(spec: Any, gone: Sequence[PartitionStanding]) -> bool:
    return bool(gone) and spec.get("acceptLoss") == token_of(gone)


def lost_fields(gone: Sequence[PartitionStanding]) -> dict[str, Any] | None:
    """As the status shows it; None where nothing is lost."""
    if not gone:
        return None
    return {
        "partitions": len(gone),
        "internalPartitions": sum(each.is_internal for each in gone),
        "token": token_of(gone),
    }

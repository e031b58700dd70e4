"""How a reset and its snapshot read in a ConsumerGroup's status, and what is read back from there. Pure.

Offsets are a text for each topic, "0:15,1:20,2:-" (- where nothing is committed): lists of objects would be ten times as large.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from millstream_cluster.offset_resets import Partition, distance
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.consumer_group import moment
from millstream_operator.plan.offset_reset import Offsets, Phase, Reset, Snapshot

_NOTHING = "-"


def reset_fields(reset: Reset) -> dict[str, Any]:
    far = distance(reset.before, reset.after)
    before, after = _texts(reset.before), _texts(reset.after)
    return {
        "id": reset.id,
        "phase": reset.phase.value,
        "since": moment(reset.since_ms),
        "message": reset.message,
        "drains": reset.drains,
        "partitions": len(reset.after),
        "recordsSkipped": far.skipped,
        "recordsRepeated": far.repeated,
        "topics": [{"topic": topic, "before": before[topic], "after": text} for topic, text in after.items()],
    }


def snapshot_fields(reset: Reset) -> dict[str, Any]:
    """What undoes the reset."""
    texts = _texts(reset.before)
    return {"id": reset.id, "topics": [{"topic": topic, "offsets": text} for topic, text in texts.items()]}


def reset_of(status: Mapping[str, Any]) -> Reset | None:
    told = status.get("lastReset")
    if told is None:
        return None
    return Reset(
        id=told["id"],
        phase=Phase(told["phase"]),
        since_ms=time_ms(told["since"]),
        message=told.get("message", ""),
        drains=bool(told.get("drains")),
        before=_offsets(told.get("topics") or (), "before"),
        after=_offsets(told.get("topics") or (), "after"),
    )


def snapshot_of(status: Mapping[str, Any]) -> Snapshot | None:
    told = status.get("snapshot")
    return None if told is None else Snapshot(told["id"], _offsets(told.get("topics") or (), "offsets"))


def reset_condition(reset: Reset) -> Condition:
    far = distance(reset.before, reset.after)
    plan = f"{len(reset.after)} partitions, {far.skipped} records skipped, {far.repeated} read again"
    match reset.phase:
        case Phase.DONE:
            return Condition("OffsetsReset", True, "Done", f"{reset.id}: {plan}")
        case Phase.PLANNED:
            return Condition("OffsetsReset", False, "Planned", f"{reset.id}: {plan}; dryRun: false does it")
        case Phase.REFUSED:
            return Condition("OffsetsReset", False, "ResetRefused", f"{reset.id}: {reset.message}")
        case _:
            return Condition("OffsetsReset", None, reset.phase.value, f"{reset.id}: {reset.message or plan}")


def time_ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def _texts(offsets: Offsets) -> dict[str, str]:
    rows: dict[str, list[str]] = {}
    for (topic, index), offset in sorted(offsets.items()):
        rows.setdefault(topic, []).append(f"{index}:{_NOTHING if offset is None else offset}")
    return {topic: ",".join(row) for topic, row in rows.items()}


def _offsets(topics: Sequence[Mapping[str, str]], field: str) -> dict[Partition, int | None]:
    found: dict[Partition, int | None] = {}
    for told in topics:
        for pair in filter(None, told[field].split(",")):
            index, _, offset = pair.partition(":")
            found[told["topic"], int(index)] = None if offset == _NOTHING else int(offset)
    return found

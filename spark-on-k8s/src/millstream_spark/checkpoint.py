"""Reads what Spark wrote into a query's checkpoint: where its batches end, and the watermark that it went by."""

import json
from dataclasses import dataclass

from millstream_spark.lag import Offsets
from millstream_spark.storage import Storage


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    end: Offsets
    watermark_ms: int


def committed_offsets(storage: Storage, checkpoint: str) -> tuple[int, Offsets] | None:
    """Return the last committed batch and its end, or None if there is none or its file has another format."""
    committed = [int(name) for name in storage.names(f"{checkpoint}/commits") if name.isdecimal()]
    if not committed:
        return None
    batch_id = max(committed)
    planned = planned_batch(storage, checkpoint, batch_id)
    return None if planned is None else (batch_id, planned.end)


def planned_batch(storage: Storage, checkpoint: str, batch: int) -> PlannedBatch | None:
    """Return what was written before the batch ran, or None if nothing was, or it has another format."""
    lines = (storage.read_text(f"{checkpoint}/offsets/{batch}") or "").splitlines()
    # The version, the batch's settings, then one line for each source; a job here has one.
    if len(lines) != 3 or lines[0] != "v1":
        return None
    return PlannedBatch(json.loads(lines[2]), json.loads(lines[1])["batchWatermarkMs"])


def initial_offsets(storage: Storage, checkpoint: str) -> Offsets | None:
    """Return where the query's first batch began, or None if it was not started yet."""
    # A byte for old versions of Spark, then the version and the offsets.
    text = storage.read_text(f"{checkpoint}/sources/0/0")
    if text is None:
        return None
    offsets: Offsets = json.loads(text.splitlines()[-1])
    return offsets

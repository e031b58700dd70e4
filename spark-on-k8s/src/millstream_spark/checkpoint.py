"""Reads the offsets that a checkpoint's last committed batch ended at. For display; Spark alone decides by them."""

import json

from millstream_spark.lag import Offsets
from millstream_spark.storage import Storage


def committed_offsets(storage: Storage, checkpoint: str) -> tuple[int, Offsets] | None:
    """Return the last committed batch and its end, or None if there is none or its file has another format."""
    committed = [int(name) for name in storage.names(f"{checkpoint}/commits") if name.isdecimal()]
    if not committed:
        return None
    batch_id = max(committed)
    lines = (storage.read_text(f"{checkpoint}/offsets/{batch_id}") or "").splitlines()
    # The version, the batch's settings, then one line for each source; this job has one.
    if len(lines) != 3 or lines[0] != "v1":
        return None
    return batch_id, json.loads(lines[2])

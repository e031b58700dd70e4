"""How a batch is to be written, decided once and kept in the cluster. Decides alone; does no I/O."""

import json
from dataclasses import asdict, dataclass

from millstream_spark.errors import SinkRefused


@dataclass(frozen=True, slots=True)
class Plan:
    """Whoever writes the batch, for the first time or again, goes by the one that was recorded before its first row."""

    batch: int
    source_start: str
    """Digest of the source's offsets where the batch begins."""
    source_end: str
    slots: int
    """Tasks that write the batch, each in a transaction of its own."""
    frozen: str | None
    """Where its computed rows are kept; None: one slot, whose transaction holds all of the batch or nothing."""

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_text(text: str) -> "Plan":
        return Plan(**json.loads(text))


def is_new(recorded: Plan | None, *, batch: int, source_start: str, source_end: str) -> bool:
    """Return whether nothing was planned for this batch yet, False if it was; raise SinkRefused unless it is next."""
    if recorded is None:
        if batch == 0:
            return True
        raise SinkRefused(
            f"the checkpoint is at batch {batch} and the cluster knows of none: its record expired or was deleted, "
            "or the topic was created again; what was written of this batch cannot be told"
        )
    if recorded.batch == batch and recorded.source_end == source_end:
        return False
    if recorded.batch == batch - 1 and recorded.source_end == source_start:
        return True
    raise SinkRefused(
        f"the topic holds batch {recorded.batch}, which ends at source offsets {recorded.source_end}, and the checkpoint "
        f"is at batch {batch}, from {source_start} to {source_end}: it was lost, is older than the topic, or another query's"
    )


def is_written(done: int | None, batch: int) -> bool:
    """Return whether a slot's last committed batch, None if there is none, is this one; raise if it is a later one."""
    if done is not None and done > batch:
        raise SinkRefused(f"batch {done} is in the topic and this is batch {batch}: a later driver has taken over")
    return done == batch

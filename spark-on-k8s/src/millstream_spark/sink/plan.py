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
        """Raises SinkRefused."""
        try:
            return Plan(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise SinkRefused(
                f"the sink's record in the cluster is {text!r}: somebody else committed to its group"
            ) from error


def is_new(recorded: Plan | None, *, is_begun: bool, batch: int, source_start: str, source_end: str) -> bool:
    """Return whether nothing was planned for this batch yet, False if it was; raise SinkRefused unless it is next.
    `is_begun`: the checkpoint says that its first batch was planned.
    """
    if recorded is None:
        if batch == 0 and not is_begun:
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


def is_written(next_batch: int | None, batch: int) -> bool:
    """Return whether a slot's mark, the batch that it waits for, says that this one is in the topic. Raises SinkRefused."""
    if next_batch is None or next_batch < batch:
        raise SinkRefused(
            f"batch {batch} was begun, and the mark of a slot is gone: it expired, was deleted or set back; "
            "whether its rows are in the topic cannot be told"
        )
    if next_batch > batch + 1:
        raise SinkRefused(
            f"batch {next_batch - 1} is in the topic and this is batch {batch}: a later driver has taken over"
        )
    return next_batch == batch + 1

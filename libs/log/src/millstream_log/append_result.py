"""What a producer learns of its batch."""

from typing import NamedTuple

NO_APPEND_TIME = -1


class AppendResult(NamedTuple):
    """Where a batch is; for a repetition, where it has been since its first append."""

    base_offset: int
    last_offset: int
    log_append_time: int
    is_duplicate: bool

"""What is told of an append: to the producer of a batch, and to who copied many."""

from typing import Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

NO_APPEND_TIME: Final = -1


@mypyc_attr(acyclic=True, free_list_len=1)
class AppendResult:
    """Where a batch is; for a repetition, where it has been since its first append."""

    __slots__ = ("base_offset", "is_duplicate", "last_offset", "log_append_time")

    def __init__(self, base_offset: i64, last_offset: i64, log_append_time: i64, is_duplicate: bool) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time = log_append_time
        self.is_duplicate = is_duplicate


class Copied(NamedTuple):
    """What came of a leader's batches."""

    batches: int
    """How many were appended."""
    size: int
    ended: list[tuple[int, int]]
    """(marker's offset, first offset) of each transaction that they ended."""

"""What a reader gets: one record of one partition."""

from typing import Any, NamedTuple


class Message(NamedTuple):
    """Key and value are as the reader's formats made them: bytes, unless it asked for something else."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Any
    headers: tuple[tuple[str, bytes | None], ...] = ()
